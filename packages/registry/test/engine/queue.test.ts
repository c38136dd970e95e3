import { setImmediate as turn } from 'node:timers/promises'
import {
  createInProcessStores,
  defineRunnable,
  type RunEngine,
  type RunEngineOptions,
  type Runnable,
  type RunnableDefinition,
  type StartOptions
} from '@svc/registry'
import { codeOf, createTestCluster } from '@svc/testing'
import t, { type Test } from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const keepAlive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(keepAlive))

/** A runnable whose runs end when the test says so; it records what is in progress. */
class Held {
  readonly begun: string[] = []
  readonly active = new Map<string, number>()
  readonly most = new Map<string, number>()
  readonly runnable: Runnable
  #held: (() => void)[] = []
  #waiting: (() => void)[] = []
  #isOpen = false

  constructor(fields: Partial<RunnableDefinition> = {}) {
    const run = (input: unknown, owner: string) => this.#run(String(input), owner)
    this.runnable = defineRunnable({
      kind: 'agent',
      name: 'held',
      resumable: true,
      async *stream(input, context) {
        await run(input, context.principal.sub)
        yield { type: 'text', text: `did ${String(input)}` }
      },
      ...fields
    })
  }

  /** Resolves once `count` runs have begun. */
  async until(count: number): Promise<void> {
    while (this.begun.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Ends the runs that have begun, and all later ones. */
  open(): void {
    this.#isOpen = true
    for (const release of this.#held.splice(0)) release()
  }

  /** Ends the run that began first. */
  release(): void {
    this.#held.shift()?.()
  }

  async #run(input: string, owner: string): Promise<void> {
    this.begun.push(input)
    const now = (this.active.get(owner) ?? 0) + 1
    this.active.set(owner, now)
    this.most.set(owner, Math.max(now, this.most.get(owner) ?? 0))
    for (const wake of this.#waiting.splice(0)) wake()
    if (!this.#isOpen) await new Promise<void>((resolve) => this.#held.push(resolve))
    this.active.set(owner, this.active.get(owner)! - 1)
  }
}

const by = (sub: string): StartOptions => ({ queue: true, principal: { sub, scopes: [] } })
const textOf = async (run: { result(): Promise<{ text: string }> }) => (await run.result()).text

async function startAll(engine: RunEngine, { runnable }: Held, owner: string, count: number) {
  const runs = []
  for (let index = 1; index <= count; index++)
    runs.push(await engine.start(runnable, `${owner}${index}`, by(owner)))
  return runs
}

t.test('a queued run waits as submitted with its place, then begins and ends like any other', async (t) => {
  const held = new Held()
  const engine = buildEngine(t, { queue: { concurrency: 1 } })
  const [first, second, third] = await startAll(engine, held, 'ada', 3)
  await held.until(1)
  const { status, queuePosition, epoch } = (await engine.find(third!.runId))!
  t.same({ status, queuePosition, epoch }, { status: 'submitted', queuePosition: 2, epoch: 0 })
  t.equal((await engine.find(first!.runId))?.queuePosition, null)
  t.equal(engine.active, 1, 'a waiting run is not in progress')
  held.open()
  t.same(await Promise.all([first!, second!, third!].map(textOf)), ['did ada1', 'did ada2', 'did ada3'])
  const parts = await partsOf(second!)
  t.same(
    parts.map(({ seq, type }) => [seq, type]),
    [
      [1, 'start'],
      [2, 'text'],
      [3, 'finish']
    ]
  )
  t.match(parts[0], { input: 'ada2' })
  t.equal(second!.replayed, false)
})

t.test(
  'limits per process and per owner are kept; an owner with many runs does not hold up others',
  async (t) => {
    const held = new Held()
    const engine = buildEngine(t, { queue: { concurrency: 4, perOwner: 3 } })
    const many = await startAll(engine, held, 'ada', 50)
    await held.until(3)
    const few = await startAll(engine, held, 'grace', 2)
    await held.until(4)
    t.same(held.begun.at(-1), 'grace1', 'the first run of another owner is next')
    held.release()
    await held.until(5)
    t.same(held.begun.at(-1), 'grace2')
    held.open()
    await Promise.all([...many, ...few].map(textOf))
    t.same(held.begun.length, 52)
    t.ok(held.most.get('ada')! <= 3)
  }
)

t.test('a runnable may say that its runs are queued, and a start that they are not', async (t) => {
  const held = new Held({ queue: true })
  const engine = buildEngine(t, { queue: { concurrency: 1 } })
  const runs = [await engine.start(held.runnable, 'a'), await engine.start(held.runnable, 'b')]
  await engine.start(held.runnable, 'c', { queue: false })
  await held.until(2)
  t.same(held.begun.sort(), ['a', 'c'])
  t.equal((await engine.find(runs[1]!.runId))?.queuePosition, 1)
  held.open()
  await Promise.all(runs.map(textOf))
})

t.test('a waiting run can be canceled at once, and never begins', async (t) => {
  const held = new Held()
  const engine = buildEngine(t, { queue: { concurrency: 1 } })
  const [first, second, third] = await startAll(engine, held, 'ada', 3)
  await held.until(1)
  t.equal((await engine.cancel(second!.runId)).status, 'canceled')
  t.equal(await third!.cancel(), true)
  t.same(
    (await partsOf(second!)).map(({ type }) => type),
    ['start', 'finish']
  )
  t.equal((await second!.result()).finishReason, 'canceled')
  held.open()
  await textOf(first!)
  await turn()
  t.same(held.begun, ['ada1'])
  t.equal(await codeOf(() => engine.cancel(second!.runId)), 'RUN_ERR_TERMINAL')
})

t.test('a start key gives the waiting run', async (t) => {
  const held = new Held()
  const engine = buildEngine(t, { queue: { concurrency: 1 } })
  const start = (hash: string) =>
    engine.start(held.runnable, 'x', { ...by('ada'), startKey: { key: 'k', hash } })
  await startAll(engine, held, 'ada', 1)
  const run = await start('h')
  const again = await start('h')
  t.same([again.runId, again.replayed], [run.runId, true])
  t.equal(await codeOf(() => start('other')), 'RUN_ERR_KEY_REUSED')
  held.open()
  t.equal(await textOf(again), 'did x')
})

t.test('runs that no other process could begin are refused', async (t) => {
  const held = new Held()
  const starts: [options: RunEngineOptions, runnable: Partial<RunnableDefinition>, StartOptions, unknown][] =
    [
      [{}, { resumable: false }, {}, 'x'],
      [{}, {}, { apiKey: () => 'key', redact: (value) => value }, 'x'],
      [{ record: { input: false } }, {}, {}, 'x'],
      [{}, {}, {}, [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }]]
    ]
  for (const [options, fields, asked, input] of starts) {
    const engine = buildEngine(t, options)
    const runnable = new Held(fields).runnable
    const start = () => engine.start(runnable, input as string, { ...by('ada'), ...asked })
    t.equal(await codeOf(start), 'RUN_ERR_NOT_QUEUEABLE')
    t.same((await engine.list({ limit: 1 })).runs, [])
  }
  const { queue: _, ...stores } = createInProcessStores()
  const engine = buildEngine(t, { stores })
  t.equal(await codeOf(() => engine.start(held.runnable, 'x', by('ada'))), 'RUN_ERR_NOT_QUEUEABLE')
})

t.test('a run with kept files is queued', async (t) => {
  const held = new Held({
    name: 'reader',
    async *stream(input) {
      yield { type: 'text', text: JSON.stringify(input) }
    }
  })
  const engine = buildEngine(t, { record: { files: true } })
  const image = { type: 'image' as const, mimeType: 'image/png', data: 'AAAA' }
  const run = await engine.start(held.runnable, [image], by('ada'))
  t.same(JSON.parse(await textOf(run)), [image])
})

t.test('a run whose asks are watched reports them, though it waits first', async (t) => {
  const asking = defineRunnable({
    kind: 'agent',
    name: 'asking',
    resumable: true,
    async *stream(_input, context) {
      const { action } = await context.ask({ message: 'Sure?' })
      yield { type: 'text', text: action }
    }
  })
  const engine = buildEngine(t)
  const asked = Promise.withResolvers<void>()
  const run = await engine.start(asking, 'x', { ...by('ada'), onInputRequest: () => asked.resolve() })
  await asked.promise
  const { inputs } = await engine.listInputs({ runId: run.runId, limit: 1, kinds: ['question'] })
  await engine.answer(inputs[0]!.input.inputId, { action: 'accept' })
  t.equal(await textOf(run), 'accept')
})

t.test('a draining engine begins no more runs and takes none', async (t) => {
  const held = new Held()
  const engine = buildEngine(t, { queue: { concurrency: 1 } })
  const [, second] = await startAll(engine, held, 'ada', 2)
  await held.until(1)
  const drained = engine.drain(60_000)
  t.equal(await codeOf(() => engine.start(held.runnable, 'x', by('ada'))), 'RUN_ERR_DRAINING')
  held.open()
  await drained
  await engine.close()
  t.same(held.begun, ['ada1'])
  t.equal((await engine.find(second!.runId))?.queuePosition, 1)
  t.equal(await codeOf(() => second!.result()), 'RUN_ERR_SUSPENDED')
})

t.test('a run begins though the store failed when it was to be taken', async (t) => {
  const held = new Held()
  const stores = createInProcessStores()
  const queue = stores.queue!
  let calls = 0
  const next: typeof queue.next = (query) => {
    if (++calls === 1) throw new Error('busy')
    return queue.next(query)
  }
  const engine = buildEngine(t, { stores: { ...stores, queue: { ...queue, next } } })
  const [run] = await startAll(engine, held, 'ada', 1)
  held.open()
  t.equal(await textOf(run!), 'did ada1')
})

/** Two engines on shared stores, each with its own form of the runnable. */
async function twoNodes(t: Test, runnables: readonly [Held | undefined, Held], queue = {}) {
  const shared = createTestCluster()
  const nodes = []
  for (const held of runnables) {
    const node = shared.join()
    const engine = buildEngine(t, { stores: node.stores, queue })
    if (held !== undefined) await engine.resume(held.runnable)
    await engine.recover()
    nodes.push({ node, engine })
  }
  return nodes
}

t.test('any node with the runnable begins a run; one without it does not', async (t) => {
  const held = new Held()
  const [first, second] = await twoNodes(t, [undefined, held])
  first!.engine.surfaces.list()
  const run = await second!.engine.start(held.runnable, 'x', by('ada'))
  await held.until(1)
  t.equal(first!.engine.active, 0)
  t.equal(second!.engine.active, 1)
  held.open()
  t.equal((await first!.engine.get(run.runId))?.runId, run.runId)
  await textOf(run)
})

t.test(
  'runs of a node that dies go on elsewhere, within the limit of their owner; waiting ones are left alone',
  async (t) => {
    const [here, there] = [new Held(), new Held()]
    const [first, second] = await twoNodes(t, [here, there], { concurrency: 2, perOwner: 4 })
    const runs = await startAll(first!.engine, here, 'ada', 10)
    await Promise.all([here.until(2), there.until(2)])
    first!.node.declareDead()
    await first!.node.regainContact()
    here.open()
    there.open()
    const done = await Promise.all(runs.map(({ runId }) => second!.engine.parts(runId)).map(lastOf))
    t.same(new Set(done), new Set(['finish']))
    t.ok(there.most.get('ada')! <= 4)
    t.ok(there.begun.length + here.begun.length <= 12, 'only runs of the dead node began twice')
  }
)

async function lastOf(parts: AsyncIterable<{ type: string }>): Promise<string> {
  let last = ''
  for await (const { type } of parts) last = type
  return last
}

t.test('a waiting run is canceled on any node', async (t) => {
  const held = new Held()
  const [first, second] = await twoNodes(t, [undefined, held], { concurrency: 1 })
  const [one, two] = await startAll(second!.engine, held, 'ada', 2)
  await held.until(1)
  t.equal((await first!.engine.cancel(two!.runId)).status, 'canceled')
  held.open()
  t.equal(await textOf(one!), 'did ada1')
  t.same(held.begun, ['ada1'])
})
