import { Type } from '@sinclair/typebox'
import { RUNNABLE_KINDS, type NumberedPart } from '@svc/registry'
import { scriptedRunnable, type ScriptedAct } from '@svc/testing'
import t from 'tap'
import { buildGateway, Inbox } from '../helpers/build-gateway.ts'

const call = { toolCallId: 'c1', toolName: 'pay' }
const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2, reasoningTokens: 1 }
const script: ScriptedAct[] = [
  { type: 'step.start', index: 0, attempt: 1, model: { provider: 'p', modelId: 'm' } },
  { type: 'reasoning', text: 'hm' },
  { type: 'text', text: 'one' },
  { type: 'tool.call.delta', ...call, delta: '{"secret' },
  { type: 'tool.call', ...call, args: { secret: 1 } },
  async (context) => void (await context.approvals.request({ ...call, args: { secret: 1 } })),
  async (context) => void (await context.ask({ message: 'Sure?', schema: Type.Boolean() })),
  { type: 'tool.result', ...call, result: 'secret', durationMs: 1 },
  { type: 'step', index: 0, usage, finishReason: 'stop', durationMs: 2, firstTokenMs: 1 },
  { type: 'citation', url: 'https://pages.example' },
  { type: 'file', url: 'https://files.example/a.png', mimeType: 'image/png' },
  { type: 'data', name: 'progress', value: { percent: 50 }, source: ['member'] },
  { type: 'voice.transcript', itemId: 'i', text: 'Hi', final: true, startMs: 0, endMs: 1 },
  {
    type: 'voice.turn',
    index: 0,
    itemId: 'i',
    status: 'interrupted',
    heardMs: 1,
    text: 'on',
    latency: { firstAudioMs: 1 }
  },
  {
    type: 'voice.audio',
    role: 'user',
    itemId: 'i',
    fileId: 'f',
    mimeType: 'audio/wav',
    durationMs: 1,
    size: 1,
    sha256: 'aa'
  },
  { type: 'structured', value: 'x'.repeat(1_100_000) },
  { type: 'error', error: { code: 'X', message: 'x', retryable: false }, source: ['member'] }
]
const worker = RUNNABLE_KINDS.map((kind) => scriptedRunnable(script, { kind, name: 'worker' }))

for (const kind of RUNNABLE_KINDS)
  for (const exposeToolArgs of [false, true])
    t.test(`${kind} with${exposeToolArgs ? '' : 'out'} arguments: every part comes once`, async (t) => {
      const { connect, runs } = await buildGateway(t, { runnables: worker, options: { exposeToolArgs } })
      const client = await connect()
      const inbox = new Inbox(client)
      const asked = { name: 'worker', input: 'Go', parts: true }
      const { runId } = (await client.emitWithAck(`${kind}.run`, asked)) as { runId: string }
      const { approvalId } = await inbox.first(`${kind}.approval`)
      const edited = { approvalId: String(approvalId), approved: true, args: { secret: 2 } }
      await client.emitWithAck('approval.answer', edited)
      const { inputId } = await inbox.first(`${kind}.input`)
      const answer = { inputId: String(inputId), action: 'accept', content: true } as const
      await client.emitWithAck('input.answer', answer)
      const events = await inbox.untilEnd(runId)

      const logged: NumberedPart[] = []
      for await (const part of runs.parts(runId)) logged.push(part)
      const hidden = exposeToolArgs ? [] : ['tool.call.delta']
      const shown = logged.filter(({ type }) => !hidden.includes(type))
      t.same(
        events.map(({ seq }) => seq),
        shown.map(({ seq }) => seq)
      )
      const parts = events.filter(({ event }) => event === `${kind}.part`)
      for (const { seq, part, event: _, ...rest } of parts) {
        const { args, ...whole } = logged[seq - 1] as NumberedPart & { args?: unknown }
        t.strictSame(rest, { runId })
        if (whole.type === 'structured') t.equal(part, null, 'too large')
        else t.strictSame(part, exposeToolArgs && args !== undefined ? { ...whole, args } : whole)
      }
      t.same(
        parts.map(({ seq }) => logged[seq - 1]?.type),
        shown
          .map(({ type }) => type)
          .filter(
            (type) => !/^(?:text|tool\.(?:call|result|approval\.request)|input\.request|finish)$/.test(type)
          )
      )

      const other = await connect()
      const later = new Inbox(other)
      await other.emitWithAck('run.watch', { runId, after: 3, parts: true })
      t.same(
        await later.untilEnd(runId),
        events.filter(({ seq }) => seq > 3),
        'a watcher gets the same'
      )
    })

t.test('without `parts` there are none, and each watch decides for itself', async (t) => {
  const { connect } = await buildGateway(t, {
    runnables: [scriptedRunnable([{ type: 'reasoning', text: 'a' }])]
  })
  const client = await connect()
  const inbox = new Inbox(client)
  const { runId } = (await client.emitWithAck('agent.run', { name: 'scripted', input: 'Go' })) as {
    runId: string
  }
  t.same(
    (await inbox.untilEnd(runId)).map(({ event }) => event),
    ['agent.done']
  )
  const again = new Inbox(client)
  await client.emitWithAck('run.watch', { runId, parts: true })
  const events = await again.untilEnd(runId)
  t.match(
    events.map(({ event, part }) => [event, (part as NumberedPart | undefined)?.type]),
    [
      ['agent.part', 'start'],
      ['agent.part', 'reasoning'],
      ['agent.done', undefined]
    ]
  )
  t.match(events[0], { part: { input: 'Go', at: Number } })
})

t.test('`parts` is checked', async (t) => {
  const { connect } = await buildGateway(t, { runnables: worker })
  const client = await connect()
  const send = (event: string, payload: object) =>
    (client as never as { emitWithAck(...all: unknown[]): Promise<unknown> }).emitWithAck(event, payload)
  for (const parts of ['yes', 1, null, {}, ['text'], JSON.parse('{"__proto__":true}')])
    for (const [event, payload] of [
      ['agent.run', { name: 'worker', input: 'Go', parts }],
      ['run.watch', { runId: 'x', parts }]
    ] as const)
      t.match(await send(event, payload), { code: 'GTW_ERR_BAD_PAYLOAD' })
})

t.test('transient parts come without a number, to those who asked for parts', async (t) => {
  const go = Promise.withResolvers<void>()
  const seen = Promise.withResolvers<void>()
  const progress = { type: 'data', name: 'progress', value: 1, transient: true } as const
  const runnable = scriptedRunnable([() => go.promise, progress, () => seen.promise])
  const { connect } = await buildGateway(t, { runnables: [runnable] })
  const [client, other] = [await connect(), await connect()]
  const [inbox, without] = [new Inbox(client), new Inbox(other)]
  const asked = { name: 'scripted', input: 'Go', parts: true }
  const { runId } = (await client.emitWithAck('agent.run', asked)) as { runId: string }
  await other.emitWithAck('run.watch', { runId })
  await inbox.first('agent.part')
  go.resolve()
  await inbox.until(() => inbox.of(runId).length > 1)
  seen.resolve()
  const [, { part, ...rest }] = (await inbox.untilEnd(runId)) as [unknown, Record<string, unknown>]
  t.strictSame(rest, { event: 'agent.part', runId })
  t.match(part, { ...progress, at: Number, seq: undefined })
  t.same(
    (await without.untilEnd(runId)).map(({ event }) => event),
    ['agent.done']
  )
})
