import { randomUUID } from 'node:crypto'
import t from 'tap'
import { supportAgent } from '../helpers/agents.ts'
import { agentsApp } from './helpers/agents-app.ts'

/** What `openai` 3.3 for Python sends with each request: one without a body has its content type too, and each that is no GET a key. */
const HEADERS = {
  accept: 'application/json',
  'content-type': 'application/json',
  'user-agent': 'OpenAI/Python 3.3.1',
  'x-stainless-lang': 'python',
  'x-stainless-package-version': '3.3.1',
  'x-stainless-os': 'Linux',
  'x-stainless-arch': 'x64',
  'x-stainless-runtime': 'CPython',
  'x-stainless-runtime-version': '3.13.1',
  'x-stainless-async': 'false',
  'x-stainless-retry-count': '0',
  'x-stainless-read-timeout': '600',
  'openai-beta': 'agents=v1',
  'accept-encoding': 'gzip, deflate',
  authorization: 'Bearer a-token'
}
const { 'content-type': _, ...GET } = HEADERS

t.test('requests as the SDK for Python sends them', async (t) => {
  const { add } = supportAgent(['Hello', 'Again'])
  const { origin } = await agentsApp(t, { add })
  const ask = async (method: string, path: string, body?: object, key = randomUUID()) => {
    const retried = { ...HEADERS, 'idempotency-key': `stainless-python-retry-${key}` }
    const reply = await fetch(`${origin}/v1/agents/${path}`, {
      method,
      headers: method === 'GET' ? GET : retried,
      ...(body !== undefined && { body: JSON.stringify(body) })
    })
    const text = await reply.text()
    t.ok(reply.ok, `${method} ${path}: ${reply.status} ${text.slice(0, 200)}`)
    return (text && JSON.parse(text)) as { id: string; status: string; data: { id: string; role: string }[] }
  }
  const body = { agent_id: 'support', environment: { type: 'none' }, input: 'Grüße' }
  const key = randomUUID()
  const session = await ask('POST', 'sessions', body, key)
  t.equal((await ask('POST', 'sessions', body, key)).id, session.id, 'a retry begins no other session')
  const at = `sessions/${session.id}`
  const untilIdle = async () => {
    while ((await ask('GET', at)).status !== 'idle') await new Promise((resolve) => setImmediate(resolve))
  }
  await untilIdle()
  const events = [
    {
      type: 'agent.session.input.message',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'And?' }] }]
    }
  ]
  const retry = randomUUID()
  for (let attempt = 0; attempt < 2; attempt++) await ask('POST', `${at}/events`, { events }, retry)
  await untilIdle()
  t.equal((await ask('GET', `${at}/turns?limit=10`)).data.length, 2, 'a retry sends no other message')
  const { data } = await ask('GET', `${at}/items?limit=2&order=asc`)
  t.same(
    data.map(({ role }) => role),
    ['user', 'assistant']
  )
  const rest = await ask('GET', `${at}/items?limit=2&order=asc&after=${data[1]!.id}`)
  t.equal(rest.data.length, 2)
  await ask('POST', at, { metadata: { place: 'Malmö' } })
  await ask('DELETE', at)
})
