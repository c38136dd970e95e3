import type { IncomingMessage } from 'node:http'
import { RUNNABLE_KINDS, type RunnableKind } from '@svc/registry'
import { pause, scriptedRunnable, type ScriptedAct } from '@svc/testing'
import t from 'tap'
import { buildGateway, Inbox, textOf, type Client } from '../helpers/build-gateway.ts'

const call = { toolCallId: 'c1', toolName: 'pay' }
const script: ScriptedAct[] = [
  { type: 'step.start', index: 0, attempt: 1 },
  { type: 'text', text: 'one ' },
  { type: 'step.start', index: 0, attempt: 2 },
  { type: 'text', text: 'two ' },
  { type: 'reasoning', text: 'hm' },
  { type: 'tool.call', ...call, args: { amount: 5 } },
  async ({ approvals }) => {
    const { approved } = await approvals.request({ ...call, args: { amount: 5 } })
    if (!approved) throw new Error('denied')
  },
  { type: 'tool.result', ...call, result: 'paid', durationMs: 1 },
  { type: 'text', text: 'inner', source: ['member'] },
  { type: 'text', text: 'three' },
  { type: 'finish', finishReason: 'stop', structured: { ok: true } }
]
const all = (name: string, acts: ScriptedAct[]) =>
  RUNNABLE_KINDS.map((kind) => scriptedRunnable(acts, { kind, name }))
const slow = all('slow', [{ type: 'text', text: 'begun' }, (context) => pause(60_000, context.signal)])
const failing = all('failing', [
  { type: 'text', text: 'begun' },
  () => {
    throw new Error('secret')
  }
])
const counting = scriptedRunnable(
  Array.from({ length: 50 }, (_, index) => [{ type: 'text', text: `${index} ` } as const, 1]).flat(),
  { name: 'counting' }
)

const start = (client: Client, kind: RunnableKind, name: string, more: object = {}) =>
  client.timeout(5_000).emitWithAck(`${kind}.run`, { name, input: 'Go', ...more }) as Promise<{
    runId: string
  }>

for (const transport of ['websocket', 'polling']) {
  for (const kind of RUNNABLE_KINDS) {
    t.test(`${kind} over ${transport}: text, tools, approval and end, as specified`, async (t) => {
      const { connect, runs } = await buildGateway(t, { runnables: all('worker', script) })
      const client = await connect({ transports: [transport] })
      const inbox = new Inbox(client)
      const { runId } = await start(client, kind, 'worker', { sessionId: 's1' })
      const { approvalId } = await inbox.first(`${kind}.approval`)
      const answer = { approvalId: String(approvalId), approved: true }
      t.strictSame(await client.emitWithAck('approval.answer', answer), { ok: true })
      const events = await inbox.untilEnd(runId)
      const { usage, durationMs, ...output } = events.at(-1)!['output'] as Record<string, unknown>
      t.strictSame(
        events.slice(0, -1).map(({ event, ...payload }) => [event.slice(kind.length + 1), payload]),
        [
          ['chunk', { chunk: 'one ', runId, seq: 3 }],
          ['reset', { index: 0, runId, seq: 4 }],
          ['chunk', { chunk: 'two ', runId, seq: 5 }],
          ['tool.call', { toolCallId: 'c1', toolName: 'pay', args: null, runId, seq: 7 }],
          [
            'approval',
            {
              approvalId,
              toolName: 'pay',
              args: { amount: 5 },
              expiresAt: events[4]!['expiresAt'],
              runId,
              seq: 8
            }
          ],
          ['tool.done', { toolCallId: 'c1', runId, seq: 10 }],
          ['chunk', { chunk: 'inner', runId, seq: 11, source: ['member'] }],
          ['chunk', { chunk: 'three', runId, seq: 12 }]
        ]
      )
      t.match(events.at(-1), { event: `${kind}.done`, runId, seq: 13 })
      t.strictSame(output, { text: 'two three', structured: { ok: true }, finishReason: 'stop' })
      t.match({ usage, durationMs }, { usage: { totalTokens: 0 }, durationMs: Number })
      t.match(await runs.get(runId), { kind, sessionId: 's1', status: 'completed' })
    })

    t.test(`${kind} over ${transport}: cancel, watch and failure`, async (t) => {
      const { connect } = await buildGateway(t, { runnables: [...slow, ...failing] })
      const client = await connect({ transports: [transport] })
      const inbox = new Inbox(client)
      const { runId } = await start(client, kind, 'slow')
      await inbox.first(`${kind}.chunk`)

      const watcher = await connect({ transports: [transport] })
      const watched = new Inbox(watcher)
      t.strictSame(await watcher.emitWithAck('run.watch', { runId }), { status: 'working' })
      t.strictSame(await client.emitWithAck('run.cancel', { runId }), { ok: true })
      const events = await inbox.untilEnd(runId)
      t.match(events.at(-1), { event: `${kind}.done`, output: { text: 'begun', finishReason: 'canceled' } })
      t.strictSame(await watched.untilEnd(runId), events)
      t.match(await client.emitWithAck('run.cancel', { runId }), { code: 'RUN_ERR_TERMINAL' })

      const failed = await start(client, kind, 'failing')
      t.strictSame(await inbox.untilEnd(failed.runId), [
        { event: `${kind}.chunk`, chunk: 'begun', runId: failed.runId, seq: 2 },
        {
          event: `${kind}.error`,
          error: 'The run failed',
          code: 'RUN_ERR_FAILED',
          runId: failed.runId,
          seq: 3
        }
      ])
    })
  }
}

t.test('several runs on one socket, distinguished by id, each in order', async (t) => {
  const { connect } = await buildGateway(t, { runnables: [counting] })
  const client = await connect()
  const inbox = new Inbox(client)
  const started = await Promise.all(Array.from({ length: 16 }, () => start(client, 'agent', 'counting')))
  const expected = Array.from({ length: 50 }, (_, index) => `${index} `).join('')
  for (const { runId } of started) {
    const events = await inbox.untilEnd(runId)
    t.equal(textOf(events), expected)
    t.strictSame(
      events.map(({ seq }) => seq),
      Array.from({ length: 51 }, (_, index) => index + 2)
    )
  }
  const order = inbox.all.map(({ runId }) => runId)
  const changes = order.filter((runId, index) => index > 0 && runId !== order[index - 1]).length
  t.ok(changes > 16, `interleaved: the run changes ${changes} times`)
})

t.test('an upgrade to WebSocket during a run loses no event', async (t) => {
  const { app, open } = await buildGateway(t, { runnables: [counting] })
  let begun = Promise.withResolvers<void>()
  app.io.engine.use(async ({ headers }: IncomingMessage, _reply: unknown, next: () => void) => {
    if (headers.upgrade !== undefined) await begun.promise
    next()
  })
  for (let round = 0; round < 20; round++) {
    begun = Promise.withResolvers()
    const client = open({ transports: ['polling', 'websocket'] })
    const inbox = new Inbox(client)
    client.once('agent.chunk', () => begun.resolve())
    const { engine } = client.io
    const polled = new Promise<number>((resolve) => engine.once('upgrade', () => resolve(inbox.all.length)))
    const { runId } = await start(client, 'agent', 'counting')
    const seqs = (await inbox.untilEnd(runId)).map(({ seq }) => seq)
    const expected = Array.from({ length: 51 }, (_, index) => index + 2)
    if (seqs.join() !== expected.join()) t.strictSame(seqs, expected)
    const before = await polled
    t.ok(before > 0, `${before} events came by polling`)
    client.disconnect()
  }
})

t.test('an acknowledgement precedes the first event of its run', async (t) => {
  const { connect } = await buildGateway(t, { runnables: [counting] })
  const client = await connect()
  const seen: string[] = []
  client.onAny((event: string) => seen.push(event))
  await new Promise<void>((resolve) => {
    client.emit('agent.run', { name: 'counting', input: 'Go' }, () => seen.push('ack'))
    client.once('agent.done', () => resolve())
  })
  t.equal(seen[0], 'ack')
})

t.test('tool arguments are sent with exposeToolArgs', async (t) => {
  const { connect } = await buildGateway(t, {
    runnables: [scriptedRunnable([{ type: 'tool.call', ...call, args: { amount: 5 } }])],
    options: { exposeToolArgs: true }
  })
  const client = await connect()
  const inbox = new Inbox(client)
  await start(client, 'agent', 'scripted')
  t.match(await inbox.first('agent.tool.call'), { args: { amount: 5 } })
})
