import { remoteAgent } from '@svc/a2a'
import { createContext, createRunEngine, type RunInput } from '@svc/registry'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import type { ProtocolVersion } from '../../src/wire/versions.ts'
import { OPERATIONS } from '../../src/operations.ts'
import { asker, createWaiting } from '../helpers/agents.ts'
import { buildApp, echo } from '../helpers/build-app.ts'
import { faultsOf } from '../helpers/published/faults-of.ts'
import { lostByProto } from '../helpers/published/official-codec.ts'
import { LEGACY_REQUESTS, REQUESTS } from '../helpers/published/operation-types.ts'

interface Sent {
  jsonrpc: string
  id: number
  method: string
  params?: unknown
}

/** The operations that a remote agent uses. */
const ASKED = Object.keys(REQUESTS) as (keyof typeof REQUESTS)[]

const INPUTS: RunInput[] = [
  'echo',
  [
    { type: 'text', text: 'see' },
    { type: 'image', mimeType: 'image/png', data: 'aGk=', filename: 'a.png' },
    { type: 'file', mimeType: 'text/plain', url: 'https://example.org/a' }
  ],
  { a: [1, { b: null }] },
  [1, 'two']
]

t.setTimeout(120_000)

t.test('requests of a remote agent match the published schemas of 0.3 and 0.2', async (t) => {
  const sent = await gather(t, '0.3')
  for (const name of ASKED)
    for (const request of sent.get(OPERATIONS[name].rpc['0.3'])!)
      for (const version of ['0.2', '0.3'] as const)
        t.same(faultsOf(version, LEGACY_REQUESTS[name], request), [], name)
})

t.test('requests of a remote agent match the published schema of 1.0', async (t) => {
  const sent = await gather(t, '1.0')
  for (const name of ASKED)
    for (const { params, ...call } of sent.get(OPERATIONS[name].rpc['1.0'])!) {
      t.match(call, { jsonrpc: '2.0', id: Number })
      t.same([...faultsOf('1.0', REQUESTS[name], params), ...lostByProto(REQUESTS[name], params)], [], name)
    }
  const { params } = sent.get('SendMessage')![0] as { params: { message: object } }
  const wrong = { ...params, message: { ...params.message, role: 'user' } }
  t.not(faultsOf('1.0', REQUESTS.send, wrong).length, 0)
  t.not(lostByProto(REQUESTS.send, wrong).length, 0)
})

/** The requests for every kind of input and course of a task, by method. */
async function gather(t: Test, version: ProtocolVersion): Promise<Map<string, Sent[]>> {
  const sent = new Map<string, Sent[]>()
  const keep = (body: unknown) => {
    const call = body as Sent | undefined
    if (call !== undefined) sent.set(call.method, [...(sent.get(call.method) ?? []), call])
  }
  const waiting = createWaiting()
  const { origin, url } = await buildApp(t, {
    runnables: [echo, asker, waiting.runnable],
    options: { versions: [version], defaultInputModes: ['*/*'] },
    async before(app) {
      app.addHook('preHandler', async ({ body }) => keep(body))
      app.get('/silent/.well-known/agent-card.json', () => {
        const at = { url: `${origin}/a2a` }
        return version === '0.3'
          ? { ...at, capabilities: {} }
          : { supportedInterfaces: [{ ...at, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }
      })
    }
  })
  const engine = createRunEngine()
  t.teardown(() => engine.close())

  const far = remoteAgent({ url, agentName: 'echo' })
  for (const input of INPUTS) await far.run(input, createContext({ sessionId: 'mine' }))
  await (await engine.start(remoteAgent({ url: `${origin}/silent` }), 'echo')).result()

  for (const answer of [
    { approved: true, args: { path: 'z' } },
    { approved: false, reason: 'no' }
  ]) {
    const run = await engine.start(remoteAgent({ url, agentName: 'asker' }), 'x')
    for await (const part of run.parts())
      if (part.type === 'tool.approval.request') await engine.answer(part.approvalId, answer)
  }

  const hanging = await engine.start(remoteAgent({ url, agentName: 'waiting' }), 'x')
  await waiting.reached()
  for await (const part of hanging.parts()) if (part.type === 'text') break
  await hanging.cancel()
  await waiting.aborted()

  await (await engine.start(remoteAgent({ url: await breakOff(t, version, keep), version }), 'x')).result()

  t.same([...sent.keys()].sort(), ASKED.map((name) => OPERATIONS[name].rpc[version]).sort(), 'all are asked')
  return sent
}

/** A service whose streams break off, so that its task is polled. */
async function breakOff(t: Test, version: ProtocolVersion, keep: (body: unknown) => void): Promise<string> {
  const isLegacy = version === '0.3'
  const task = (state: string) => ({
    ...(isLegacy && { kind: 'task' }),
    id: 't1',
    contextId: 'c1',
    status: { state: isLegacy ? state : `TASK_STATE_${state.toUpperCase()}` }
  })
  const app = Fastify()
  t.teardown(() => app.close())
  app.post('/', async ({ body }, reply) => {
    keep(body)
    const { id, method } = body as Sent
    const answer = (result: object) => JSON.stringify({ jsonrpc: '2.0', id, result })
    if (method === OPERATIONS.get.rpc[version])
      return reply.type('application/json').send(answer(task('completed')))
    const first = isLegacy ? task('working') : { task: task('working') }
    return reply.type('text/event-stream').send(`data: ${answer(first)}\n\n`)
  })
  return app.listen({ port: 0, host: '127.0.0.1' })
}
