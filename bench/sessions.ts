import { setTimeout as pause } from 'node:timers/promises'
import {
  createRunEngine,
  defineRunnable,
  GLOBAL_REGISTRY,
  type RunEngine,
  type SessionKey,
  type Stores
} from '@svc/registry'
import { createSseStream, streamEntries } from '@svc/surface'
import { median } from './figures.ts'
import { withStores } from './with-stores.ts'

const READERS = 200
const RUNS = 20
const PARTS = 100
const MANY = 100_000
const FEW = 1_000
// Milliseconds between ten parts, as of a fast model.
const PAUSE = 20
// Messages saved at once.
const TURN = 100
const OWNER = 'ada'
const SCOPE = { runnables: [], registry: { id: GLOBAL_REGISTRY, kinds: ['agent' as const], except: [] } }

/** What readers of a session cost beside those of runs, and what a page costs of a long list. */
export async function report(rounds: number): Promise<void> {
  console.log('\nsessions, CPU in this process, median\n')
  await withStores(async (name, stores) => {
    await reportReaders(name, stores, rounds)
    if (stores !== undefined) await reportPages(name, stores, rounds)
  })
}

async function reportReaders(name: string, stores: Stores | undefined, rounds: number): Promise<void> {
  const engine = createRunEngine(stores && { stores })
  const ofRuns: number[] = []
  const ofSession: number[] = []
  await readRuns(engine, 'warm-up')
  await readSession(engine, 'warm-up too')
  for (let round = 0; round < rounds; round++) {
    ofRuns.push(await cpuOf(() => readRuns(engine, `runs ${round}`)))
    ofSession.push(await cpuOf(() => readSession(engine, `session ${round}`)))
  }
  await engine.close()
  const [a, b] = [median(ofRuns), median(ofSession)].map((cpu) => cpu / RUNS)
  const texts = [a, b].map((each) => (each! / 1_000).toFixed(1))
  console.log(
    `${name}: ${READERS} readers, ms a run of ${PARTS} parts: of runs ${texts[0]}, of a session ${texts[1]}, ratio ${(b! / a!).toFixed(2)}`
  )
}

const speaker = defineRunnable({
  kind: 'agent',
  name: 'speaker',
  async *stream() {
    for (let n = 0; n < PARTS; n++) {
      yield { type: 'text', text: `word ${n} ` }
      if (n % 10 === 0) await pause(PAUSE)
    }
  }
})

async function readRuns(engine: RunEngine, sessionId: string): Promise<void> {
  for (let n = 0; n < RUNS; n++) {
    const run = await engine.start(speaker, 'go', { sessionId })
    const readers = Array.from({ length: READERS }, () => drain(createSseStream(engine, run.runId), 1))
    await Promise.all(readers)
  }
}

async function readSession(engine: RunEngine, sessionId: string): Promise<void> {
  const key: SessionKey = { ...keyOf(sessionId), name: 'speaker', owner: 'anonymous' }
  const first = await engine.start(speaker, 'go', { sessionId })
  await first.result()
  const streams = await Promise.all(
    Array.from({ length: READERS }, async () => streamEntries(await engine.sessions.open(key)))
  )
  const reading = streams.map((stream) => drain(stream, RUNS))
  for (let n = 0; n < RUNS; n++) await (await engine.start(speaker, 'go', { sessionId })).result()
  await Promise.all(reading)
}

// Reads until so many runs have finished.
async function drain(stream: ReadableStream<string>, runs: number): Promise<void> {
  let left = runs
  for await (const chunk of stream) {
    left -= chunk.split('"type":"finish"').length - 1
    if (left <= 0) break
  }
}

async function reportPages(name: string, stores: Stores, rounds: number): Promise<void> {
  const { sessions, sessionIndex } = stores
  const message = { role: 'user', content: 'Where is my parcel?' } as const
  const messages = Array.from({ length: TURN }, () => message)
  const costs: Record<string, [few: number, many: number]> = {}
  const list = (cursor?: string) =>
    sessionIndex!.list({ owner: OWNER, scope: SCOPE, limit: 20, ...(cursor !== undefined && { cursor }) })
  let saved = 0
  let written = 0
  for (const [at, count] of [FEW, MANY].entries()) {
    for (; saved < count; saved++) await sessions.append(keyOf(`s${saved}`), `r${saved}`, [message])
    for (; written < count; written += TURN) await sessions.append(keyOf('long'), `t${written}`, messages)
    const long = keyOf('long')
    const { nextCursor } = await list()
    const before = `m${Math.floor(count / 2)}`
    for (const [what, read] of Object.entries({
      'the first page of sessions': () => list(),
      'the next page of sessions': () => list(nextCursor!),
      'the newest messages': () => sessionIndex!.messages(long, { limit: 20 }),
      'messages in the middle': () => sessionIndex!.messages(long, { limit: 20, before })
    })) {
      const each = costs[what] ?? [0, 0]
      each[at] = await wallOf(read, rounds)
      costs[what] = each
    }
  }
  for (const [what, [few, many]] of Object.entries(costs))
    console.log(
      `${name}: µs for ${what}, of ${FEW}: ${few.toFixed(0)}, of ${MANY}: ${many.toFixed(0)}, ratio ${(many / few).toFixed(2)}`
    )
}

function keyOf(sessionId: string): SessionKey {
  return { registry: GLOBAL_REGISTRY, kind: 'agent', name: 'desk', owner: OWNER, sessionId }
}

// Microseconds.
async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const from = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(from)
  return user + system
}

async function wallOf(read: () => unknown, rounds: number): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < rounds * 20; round++) {
    const from = performance.now()
    await read()
    times.push((performance.now() - from) * 1_000)
  }
  return median(times)
}
