import { createInProcessStores, defineRunnable, isTerminalStatus, type WhenBusy } from '@svc/registry'
import t, { type Test } from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const keepAlive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(keepAlive))

/** A run that holds the turn of the session "s", and one of a schedule that begins meanwhile. */
async function begin(t: Test, whenBusy: WhenBusy | undefined, ofAgent?: WhenBusy) {
  const gate = Promise.withResolvers<void>()
  const heard: unknown[] = []
  const agent = defineRunnable({
    kind: 'agent',
    name: 'talker',
    takesTurns: true,
    resumable: true,
    steerable: true,
    whenBusy: ofAgent,
    async run(input, { steering }) {
      heard.push(input)
      if (input === 'first') await gate.promise
      for (let closed = false; !closed; closed = steering!.close())
        for (const { message } of steering!.take()) heard.push(['joined', message])
      return String(input)
    }
  })
  const stores = createInProcessStores()
  const engine = buildEngine(t, { stores })
  await engine.resume(agent)
  await engine.recover()
  const first = await engine.start(agent, 'first', { sessionId: 's', whenBusy: 'queue' })
  const at = new Date(Date.now() + 3_600_000)
  const { scheduleId } = await engine.schedules.create(agent, {
    at,
    input: 'tick',
    sessionId: 's',
    ...(whenBusy && { whenBusy })
  })
  const stored = (await stores.schedules!.get(scheduleId))!
  const due = { ...stored, plan: { ...stored.plan, at: Date.now() }, revision: 2, nextAt: Date.now() }
  await stores.schedules!.change(due, Infinity)
  await engine.resume(agent)
  await engine.schedules.idle()
  const runId = (await stores.schedules!.get(scheduleId))!.lastRunId!
  const ended = async (id: string) => {
    for await (const _ of engine.parts(id));
    const run = (await engine.get(id))!
    t.ok(isTerminalStatus(run.status))
    return run
  }
  return { engine, first, heard, open: gate.resolve, runId, ended }
}

t.test('a run of a schedule waits for its turn unless it is asked otherwise', async (t) => {
  const { engine, first, heard, open, runId, ended } = await begin(t, undefined)
  while (engine.active < 2) await new Promise((resolve) => setImmediate(resolve))
  open()
  t.match(await ended(runId), { status: 'completed', result: { text: 'tick' } })
  t.match(await first.result(), { text: 'first' })
  t.same(heard, ['first', 'tick'])
})

t.test('it fails in a busy session', async (t) => {
  for (const ofAgent of [undefined, 'reject'] as const) {
    const whenBusy = ofAgent === undefined ? 'reject' : undefined
    const { heard, open, runId, ended } = await begin(t, whenBusy, ofAgent)
    t.match(await ended(runId), { status: 'failed', error: { code: 'RUN_ERR_SESSION_BUSY' } })
    open()
    t.same(heard, ['first'])
  }
})

t.test('it cancels the run that has the turn', async (t) => {
  for (const whenBusy of ['interrupt', 'replace'] as const) {
    const { first, heard, runId, ended } = await begin(t, whenBusy)
    t.match(await ended(runId), { status: 'completed', result: { text: 'tick' } })
    t.match(await first.result(), { finishReason: 'canceled' })
    t.same(heard, ['first', 'tick'])
  }
})

t.test('its message joins the run that has the turn', async (t) => {
  const { engine, first, heard, open, runId, ended } = await begin(t, 'steer')
  t.match(await ended(runId), { status: 'completed', result: { text: '' } })
  const parts = await partsOf({ parts: (after) => engine.parts(runId, after) })
  t.match(parts[1], { type: 'data', name: 'joined', value: { runId: first.runId } })
  open()
  await first.result()
  t.same(heard, ['first', ['joined', 'tick']])
})
