import type { RunResult } from '@svc/registry'
import { talkingRunnable } from '@svc/testing'
import t from 'tap'
import { buildGateway, Inbox, textOf } from '../helpers/build-gateway.ts'

t.test('a message continues after the turn that it names, over HTTP and sockets', async (t) => {
  const flow = { kind: 'workflow', name: 'flow', run: () => 'done' } as const
  const { connect, origin } = await buildGateway(t, { runnables: [talkingRunnable(), flow], http: {} })
  const post = async (body: object, path = 'agents/talk') => {
    const response = await fetch(`${origin}/api/${path}/run`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sessionId: 's', ...body })
    })
    return { status: response.status, body: (await response.json()) as RunResult & { code: string } }
  }
  const a = (await post({ input: 'a' })).body.runId
  t.equal((await post({ input: 'b' })).body.text, 'a b')
  t.equal((await post({ input: 'c', afterTurn: a })).body.text, 'a c')
  t.equal((await post({ input: 'd' })).body.text, 'a c d')
  t.equal((await post({ input: 'e', afterTurn: null })).body.text, 'e')
  const refused = async (body: object, status: number, code: string, path?: string) => {
    const answer = await post({ input: 'x', ...body }, path)
    t.same([answer.status, answer.body.code], [status, code], JSON.stringify(body))
  }
  await refused({ afterTurn: 'unknown' }, 404, 'RUN_ERR_NO_TURN')
  await refused({ afterTurn: a, sessionId: 'other' }, 404, 'RUN_ERR_NO_TURN')
  await refused({ afterTurn: a, sessionId: undefined }, 400, 'RUN_ERR_BAD_INPUT')
  await refused({ afterTurn: null }, 400, 'RUN_ERR_BAD_INPUT', 'workflows/flow')
  for (const afterTurn of ['', 7, ['x'], 'x'.repeat(257)])
    await refused({ afterTurn }, 400, 'HTTP_ERR_VALIDATION')

  const client = await connect()
  const inbox = new Inbox(client)
  const run = (more: object) =>
    client.emitWithAck('agent.run', { name: 'talk', input: 'f', sessionId: 's', ...more }) as Promise<{
      runId: string
    }>
  t.equal(textOf(await inbox.untilEnd((await run({ afterTurn: a })).runId)), 'a f')
  t.match(await run({ afterTurn: 'unknown' }), { code: 'RUN_ERR_NO_TURN' })
  t.match(await run({ afterTurn: 7 }), { code: 'GTW_ERR_BAD_PAYLOAD' })
})
