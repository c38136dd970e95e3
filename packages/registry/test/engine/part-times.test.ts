import { mock } from 'node:test'
import {
  createInProcessStores,
  createRunEngine,
  defineRunnable,
  type NumberedPart,
  type RunContext,
  type Runnable
} from '@svc/registry'
import { entryFromJson } from '@svc/contract/stores'
import { scriptedRunnable, storedRun } from '@svc/testing'
import t, { type Test } from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const NOW = Date.UTC(2026, 0, 1)
const HOUR = 3_600_000

/** Sets the clock of the test; timers stay real. */
function setClock(t: Test, now: number): void {
  mock.timers.reset()
  mock.timers.enable({ apis: ['Date'], now })
  t.teardown(() => mock.timers.reset())
}

const timesOf = (parts: readonly NumberedPart[]) => parts.map(({ type, at }) => [type, at - NOW])

t.test('each part has the time at which it was written', async (t) => {
  setClock(t, NOW)
  const engine = buildEngine(t)
  const later = (ms: number) => () => setClock(t, NOW + ms)
  const run = await engine.start(
    scriptedRunnable([
      { type: 'text', text: 'plain' },
      later(5),
      { type: 'text', text: 'in a member', source: ['m'] },
      later(9),
      { type: 'structured', value: { a: 1 } }
    ]),
    'x'
  )
  const parts = await partsOf(run)
  t.same(timesOf(parts), [
    ['start', 0],
    ['text', 0],
    ['text', 5],
    ['structured', 9],
    ['finish', 9]
  ])
  for await (const { json } of readLog(engine.stores, run.runId))
    t.match(json, /^\{"seq":\d+,"type":"[a-z]+","at":\d{13},"/, 'the place comes first')
})

t.test('times never decrease when the clock is set back', async (t) => {
  setClock(t, NOW)
  const engine = buildEngine(t)
  const run = await engine.start(
    scriptedRunnable([() => setClock(t, NOW - HOUR), { type: 'text', text: 'a' }]),
    'x'
  )
  t.same(timesOf(await partsOf(run)), [
    ['start', 0],
    ['text', 0],
    ['finish', 0]
  ])
})

t.test(
  'the record has the time of the part that changed it, whatever passes between two looks at the clock',
  async (t) => {
    const now = Date.now
    let looks = 0
    Date.now = () => NOW + ++looks
    t.teardown(() => (Date.now = now))
    const engine = buildEngine(t)
    const asking = scriptedRunnable([(context) => void context.ask({ message: '?' }).catch(() => {})], {
      name: 'asking'
    })
    const failing = scriptedRunnable(
      [
        () => {
          throw new Error('no')
        }
      ],
      { name: 'failing' }
    )
    for (const runnable of [scriptedRunnable([{ type: 'text', text: 'a' }]), asking, failing]) {
      const run = await engine.start(runnable, 'x')
      const parts = await partsOf(run)
      t.equal((await engine.find(run.runId))!.updatedAt, parts.at(-1)!.at, runnable.name)
    }
  }
)

t.test('a runnable cannot set the time of a part', async (t) => {
  setClock(t, NOW)
  const engine = buildEngine(t)
  const yielded = [
    { type: 'text', text: 'a', at: 1 },
    { at: 'never', type: 'structured', value: 1 },
    { type: 'finish', finishReason: 'stop', at: Infinity }
  ]
  const run = await engine.start(scriptedRunnable(yielded as never[]), 'x')
  for (const part of await partsOf(run)) t.equal(part.at, NOW, part.type)
})

/** A resumable runnable that waits for an approval. */
const gate: Runnable = defineRunnable({
  kind: 'workflow',
  name: 'gate',
  resumable: true,
  async *stream(_, { approvals }: RunContext) {
    await approvals.request({ toolCallId: 'c', toolName: 'send', args: {}, durable: true })
    yield { type: 'text', text: 'sent' } as const
  }
})
const hanging = scriptedRunnable([() => new Promise<never>(() => {})], { name: 'hanging' })

/** Starts a run in a process that dies, and sets the clock back by an hour. */
async function crash(t: Test, runnable: Runnable) {
  setClock(t, NOW)
  const stores = createInProcessStores()
  const engine = createRunEngine({ stores, drainTimeout: 0 })
  t.teardown(() => engine.close())
  const run = await engine.start(runnable, 'x')
  run.result().catch(() => {})
  await new Promise((resolve) => setImmediate(resolve))
  setClock(t, NOW - HOUR)
  return { stores: { ...stores, log: { ...stores.log } }, runId: run.runId }
}

t.test('times never decrease across a restart', async (t) => {
  const { stores, runId } = await crash(t, gate)
  const engine = buildEngine(t, { stores })
  await engine.resume(gate)
  await engine.recover()
  await engine.answer(`${runId}.1`, { approved: true })
  const parts = await partsOf({ parts: (after?: number) => engine.parts(runId, after) })
  t.match(timesOf(parts), [
    ['start', 0],
    ['tool.approval.request', 0],
    ['tool.approval.response', 0],
    ['text', 0],
    ['finish', 0]
  ])
})

t.test('the end of a run that died with its process is not before its other parts', async (t) => {
  const { stores, runId } = await crash(t, hanging)
  const engine = buildEngine(t, { stores })
  t.equal(await engine.recover(), 1)
  const parts = await partsOf({ parts: (after?: number) => engine.parts(runId, after) })
  t.same(timesOf(parts), [
    ['start', 0],
    ['error', 0]
  ])
})

t.test('the end of a parked run that is canceled is not before its other parts', async (t) => {
  const { stores, runId } = await crash(t, gate)
  const engine = buildEngine(t, { stores })
  await engine.recover()
  await engine.cancel(runId)
  const parts = await partsOf({ parts: (after?: number) => engine.parts(runId, after) })
  t.same(timesOf(parts).at(-1), ['finish', 0])
})

t.test('a run whose last part is damaged ends after the parts before it', async (t) => {
  setClock(t, NOW - HOUR)
  const stores = createInProcessStores()
  const run = storedRun({ status: 'working', kind: 'agent' })
  await stores.runs.create(run)
  const whole = `{"seq":1,"type":"text","at":${NOW},"text":"a"}`
  await stores.log.append(run.runId, 1, [entryFromJson(1, whole), entryFromJson(2, '{"se')])
  const engine = buildEngine(t, { stores })
  await engine.recover()
  const entries = await stores.log.read(run.runId, 2, { entries: 9, bytes: 9_999 })
  t.same(timesOf(entries.map(({ part }) => part)), [['error', 0]])
})

async function* readLog(stores: ReturnType<typeof createInProcessStores>, runId: string) {
  yield* await stores.log.read(runId, 0, { entries: 99, bytes: 99_999 })
}
