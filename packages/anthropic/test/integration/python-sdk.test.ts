import { parrot } from '@tools/wires/wire-checks'
import t from 'tap'
import { sessionsApp } from '../helpers/sessions-app.ts'

/** What `anthropic` 0.121 for Python sends with each request: a request without a body has its content type too. */
const HEADERS = {
  accept: 'application/json',
  'content-type': 'application/json',
  'user-agent': 'Anthropic/Python 0.121.0',
  'x-stainless-lang': 'python',
  'x-stainless-package-version': '0.121.0',
  'x-stainless-os': 'Linux',
  'x-stainless-arch': 'x64',
  'x-stainless-runtime': 'CPython',
  'x-stainless-runtime-version': '3.13.1',
  'x-stainless-async': 'false',
  'x-stainless-retry-count': '0',
  'x-stainless-timeout': '600',
  'x-stainless-read-timeout': '600',
  'anthropic-version': '2023-06-01',
  'anthropic-beta': 'managed-agents-2026-04-01',
  'accept-encoding': 'gzip, deflate',
  connection: 'keep-alive',
  'x-api-key': 'a token'
}
const { 'content-type': _, ...GET } = HEADERS

t.test('requests as the SDK for Python sends them', async (t) => {
  const { origin } = await sessionsApp(t, { runnables: [parrot] })
  const ask = async (method: string, path: string, body?: object, headers: object = {}) => {
    const reply = await fetch(`${origin}/managed/v1/${path}`, {
      method,
      headers: { ...(method === 'GET' ? GET : HEADERS), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) })
    })
    const text = await reply.text()
    t.equal(reply.status, 200, `${method} ${path}: ${text.slice(0, 200)}`)
    return JSON.parse(text) as { id: string; type: string; data: { type: string }[] }
  }
  const session = await ask('POST', 'sessions?beta=true', {
    agent: 'parrot',
    environment_id: 'env_service',
    initial_events: [{ type: 'user.message', content: [{ type: 'text', text: 'Grüße' }] }]
  })
  const at = `sessions/${session.id}`
  // Those that the caller names come before the one of the method, which may then stand twice.
  const twice = { 'anthropic-beta': 'managed-agents-2026-04-01,managed-agents-2026-04-01' }
  await ask('GET', `${at}?beta=true`, undefined, twice)

  const stream = await fetch(
    `${origin}/managed/v1/${at}/events/stream?beta=true&event_deltas%5B%5D=agent.message&event_deltas%5B%5D=agent.thinking`,
    { headers: { ...GET, accept: 'text/event-stream' } }
  )
  t.equal(stream.status, 200)
  await ask('POST', `${at}/events?beta=true`, {
    events: [{ type: 'user.message', content: [{ type: 'text', text: 'Again' }] }]
  })
  let text = ''
  for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    if (/"Again"[^]*session\.status_idle/.test(text)) break
  }
  t.match(text, /event: event_delta/)
  const types = 'types%5B%5D=user.message&types%5B%5D=agent.message'
  const since = `created_at%5Bgte%5D=${encodeURIComponent('2026-01-01T00:00:00+00:00')}`
  const { data } = await ask('GET', `${at}/events?beta=true&limit=10&order=desc&${since}&${types}`)
  t.same(
    data.map(({ type }) => type),
    ['agent.message', 'user.message', 'agent.message', 'user.message']
  )
  t.match(await ask('POST', `${at}?beta=true`, { title: 'Grüße' }), { title: 'Grüße' })
  t.match(await ask('POST', `${at}/archive?beta=true`), { id: session.id })
  t.match(await ask('DELETE', `${at}?beta=true`), { id: session.id, type: 'session_deleted' })
})
