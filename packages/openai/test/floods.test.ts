import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { openAiApp } from './helpers/openai-app.ts'

t.test('a flood of refused requests is refused before their bodies are read', async (t) => {
  const authenticate = async ({ token = 'none' }: { token?: string }) => ({ sub: token, scopes: ['*'] })
  const runnable = scriptedRunnable([60_000])
  const { baseURL } = await openAiApp(t, {
    runnables: [runnable],
    options: { authenticate },
    engine: { limits: { maxRunsPerOwner: 1 } }
  })
  const post = (token: string, body: string, more: Record<string, string> = {}) =>
    fetch(`${baseURL}/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more },
      body
    })
  const asked = JSON.stringify({ model: runnable.name, input: 'x', background: true })
  const key = { 'idempotency-key': 'k' }
  const first = await post('ada', asked, key)
  t.equal(first.status, 200)
  const { id } = (await first.json()) as { id: string }
  t.equal((await post('ada', '{ no JSON')).status, 400, 'its body may be an answer')
  const statuses = new Set<number>()
  let refused: Response
  let rounds = 0
  do {
    for (const { status } of await Promise.all(Array.from({ length: 30 }, () => post('ada', asked))))
      statuses.add(status)
    refused = await post('ada', '{ no JSON')
  } while (refused.status !== 429 && ++rounds < 20)
  t.same(statuses, new Set([429]))
  t.equal(refused.status, 429)
  t.equal(refused.headers.get('connection'), 'close')
  t.match(await refused.json(), { error: { code: 'RUN_ERR_TOO_MANY_RUNS' } })
  t.match(await (await post('ada', asked, key)).json(), { id }, 'a start that was accepted is repeated')
  t.equal((await post('bob', asked)).status, 200)
})
