import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createContext, createInProcessStores, SILENT_LOG, type MemoryStore } from '@svc/registry'
import { recallMemory, type MemoryContext } from '@svc/runtime'
import { createStore } from '@svc/store'
import { startPostgres } from '@tools/postgres'
import { median, percentile } from './figures.ts'
import { reportSimilar } from './similar.ts'

const SESSIONS = 10_000
const TOPICS = [
  'weather',
  'football',
  'invoice',
  'holiday',
  'garden',
  'server',
  'report',
  'meeting',
  'concert',
  'printer'
]
const CITIES = [
  'Berlin',
  'Madrid',
  'Oslo',
  'Cairo',
  'Lima',
  'Delhi',
  'Quito',
  'Perth',
  'Turin',
  'Kyoto',
  'Boston',
  'Dakar'
]
const PETS = [
  'beagle',
  'hamster',
  'parrot',
  'tortoise',
  'gecko',
  'ferret',
  'canary',
  'poodle',
  'rabbit',
  'newt'
]

const QUESTIONS: Record<string, (pet: string) => string> = {
  'a word that few items have': (pet) => `What is the name of my ${pet}?`,
  'and words that 1,800 have': (pet) => `Does my ${pet} mind the weather in Berlin?`
}

/** Shows how long a recall memory takes to find what fits, when one owner has 10,000 sessions behind them. */
export async function report(rounds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'recall-'))
  const sqlite = await createStore({ url: `sqlite:${join(folder, 'bench.db')}` })
  try {
    console.log(`\nms to retrieve over ${SESSIONS} sessions of one owner\n`)
    console.log(`${'store'.padEnd(10)} ${'question'.padEnd(30)}   median      p95      CPU   right one first`)
    await reportStore('in memory', createInProcessStores({ memoryMaxItems: SESSIONS }).memory)
    await reportStore('SQLite', sqlite.memory)
    console.log('\npromised: a median under 20 ms')
  } finally {
    await sqlite.close()
    rmSync(folder, { recursive: true, force: true })
  }
  await reportBySimilarity(rounds * 20_000)
}

// 100,000 items with the default number of rounds.
async function reportBySimilarity(count: number): Promise<void> {
  console.log(`\nms to search ${count} items of one owner by similarity, 1,536 dimensions\n`)
  console.log(`${'store'.padEnd(10)}     first    median       p95  max. turn   recall@5`)
  const folder = mkdtempSync(join(tmpdir(), 'recall-'))
  const server = await startPostgres()
  const retention = { memoryMaxItems: count }
  const { memory } = createInProcessStores(retention)
  try {
    await reportSimilar('in memory', count, async () => ({ memory, close: async () => {} }))
    for (const [name, url] of [
      ['SQLite', `sqlite:${join(folder, 'similar.db')}`],
      ['Postgres', server.url]
    ] as const)
      await reportSimilar(name, count, () => createStore({ url, retention }))
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  console.log(
    '\npromised: p95 ≤ 20 ms, on Postgres ≤ 40 ms; first ≤ 500 ms; no turn over 5 ms; recall@5 ≥ 0.98'
  )
}

async function reportStore(name: string, items: MemoryStore): Promise<void> {
  const memory = recallMemory()
  const base = createContext({ stores: createInProcessStores() })
  const contextOf = (n: number): MemoryContext => ({
    owner: 'ann',
    namespace: 'bench',
    sessionId: `s${n}`,
    runId: `r${n}`,
    history: Promise.resolve([]),
    items,
    signal: base.signal,
    log: SILENT_LOG,
    events: { emit() {} },
    context: base
  })
  const every = Math.floor(SESSIONS / PETS.length)
  for (let n = 0; n < SESSIONS; n++) {
    const pet = n % every === 0 ? PETS[n / every] : undefined
    const [topic, city] = [TOPICS[n % 10]!, CITIES[n % 12]!]
    const input =
      pet === undefined
        ? `What is the name of the ${topic} shop ${n} in ${city}?`
        : `My ${pet} is called Pip${n}.`
    await memory.store(contextOf(n), { input, text: `About that: number ${n}.` })
  }
  for (const [kind, ask] of Object.entries(QUESTIONS)) {
    const times: number[] = []
    let found = 0
    const before = process.cpuUsage()
    for (let round = 0; round < 10; round++)
      for (const pet of PETS) {
        const begun = performance.now()
        const text = await memory.retrieve(contextOf(-1), ask(pet))
        times.push(performance.now() - begun)
        if (text?.split('\n- ')[1]?.includes(pet)) found++
      }
    const { user, system } = process.cpuUsage(before)
    const p95 = percentile(
      times.toSorted((a, b) => a - b),
      0.95
    )
    const figures = [median(times), p95, (user + system) / 1_000 / times.length].map((ms) =>
      ms.toFixed(1).padStart(8)
    )
    console.log(`${name.padEnd(10)} ${kind.padEnd(30)} ${figures.join(' ')}   ${found}/${times.length}`)
  }
}
