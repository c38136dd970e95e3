import { mock } from 'node:test'
import { createInProcessStores, type Stores } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildEngine } from '../helpers/collect.ts'

const MINUTE = 60_000
const turn = () => new Promise((resolve) => setImmediate(resolve))

t.beforeEach(() => mock.timers.enable({ apis: ['setInterval', 'Date'], now: Date.now() }))
t.afterEach(() => mock.timers.reset())

/** Advances the clock by a minute, and waits for the engine. */
async function minute(): Promise<void> {
  mock.timers.tick(MINUTE)
  await turn()
}

/** Stores that record each sweep and its time. */
function watchedStores() {
  const swept: [store: string, now: number][] = []
  const stores = createInProcessStores()
  const watch = <K extends 'runs' | 'sessions' | 'memory'>(name: K): Stores[K] => ({
    ...stores[name],
    sweep: (now: number) => (swept.push([name, now]), 0)
  })
  const watched: Stores = {
    ...stores,
    runs: watch('runs'),
    sessions: watch('sessions'),
    memory: watch('memory')
  }
  return { stores: watched, swept }
}

/** A logger that records errors. */
function watchedLog() {
  const logged: object[] = []
  const error = (details: object) => void logged.push(details)
  return { log: { debug() {}, info() {}, warn() {}, error }, logged }
}

t.test('every store with a retention is swept each minute, until the engine closes', async (t) => {
  const { stores, swept } = watchedStores()
  const engine = buildEngine(t, { stores })
  t.strictSame(swept, [])
  for (let round = 0; round < 2; round++) {
    await minute()
    const now = Date.now()
    t.strictSame(swept.splice(0), [
      ['runs', now],
      ['sessions', now],
      ['memory', now]
    ])
  }
  await engine.close()
  await minute()
  t.strictSame(swept, [])
})

t.test('old items are removed, others stay', async (t) => {
  const stores = createInProcessStores({ maxAge: 1.5 * MINUTE, memoryMaxAge: 1.5 * MINUTE })
  const engine = buildEngine(t, { stores })
  const remember = (id: string) =>
    stores.memory.put({ owner: 'ada', namespace: 'n', id, text: id, createdAt: Date.now() })
  const kept = async () => ({
    runs: (await engine.list({ limit: 10 })).runs.length,
    memories: (await stores.memory.list('ada', 'n', 10)).map(({ id }) => id)
  })
  await (await engine.start(scriptedRunnable([]), 'x')).result()
  await remember('first')
  await minute()
  await remember('second')
  t.strictSame(await kept(), { runs: 1, memories: ['second', 'first'] })
  await minute()
  t.strictSame(await kept(), { runs: 0, memories: ['second'] })
})

t.test('a failed sweep is logged, and retried a minute later', async (t) => {
  const { stores, swept } = watchedStores()
  const { log, logged } = watchedLog()
  let works = false
  const sessions: Stores['sessions'] = {
    ...stores.sessions,
    sweep: (now) => (works ? stores.sessions.sweep(now) : Promise.reject(new Error('the disk is full')))
  }
  buildEngine(t, { stores: { ...stores, sessions }, log })
  await minute()
  t.match(logged, [{ store: 'sessions', method: 'sweep', err: { stack: /the disk is full/ } }])
  works = true
  swept.length = 0
  await minute()
  t.strictSame(
    swept.map(([name]) => name),
    ['runs', 'sessions', 'memory']
  )
  t.equal(logged.length, 1)
})

const FAULTS = {
  rejects: () => Promise.reject(new Error('the disk is full')),
  throws: () => {
    throw new Error('the disk is full')
  }
}

for (const [fault, sweep] of Object.entries(FAULTS)) {
  t.test(`a store whose sweep ${fault} does not keep others from being swept`, async (t) => {
    const { log, logged } = watchedLog()
    const names = ['runs', 'sessions', 'memory'] as const
    for (const works of names) {
      const { stores, swept } = watchedStores()
      const broken = Object.fromEntries(
        names.filter((name) => name !== works).map((name) => [name, { ...stores[name], sweep }])
      )
      const engine = buildEngine(t, { stores: { ...stores, ...broken }, log })
      for (let round = 0; round < 2; round++) {
        await minute()
        t.strictSame(swept.splice(0), [[works, Date.now()]])
        // Each cause is logged once.
        const [store] = Object.keys(broken)
        const warning = { store, method: 'sweep', err: { stack: /the disk is full/ } }
        if (round === 0) t.match(logged.splice(0), [warning])
        t.strictSame(logged, [])
      }
      await engine.close()
    }
  })
}
