import { randomUUID } from 'node:crypto'
import { createStore, type Store } from '@svc/store'
import { storedRun, textEntry } from '@svc/testing'
import { COUNTED, ServerLoad, startPostgres } from '@tools/postgres'
import { Client } from 'pg'
import { median } from './figures.ts'

const NODES = 3
const PER_NODE = 10
const OWNERS = [10, 3_000, 100_000]
const WAITING = 100_000
const TAKEN = 3_000
const STARTS = 200
const ECHO = { registry: 'global', kind: 'agent', name: 'echo' } as const
const QUERY = { runnables: [ECHO], perOwner: 5, unlimited: 'anonymous' }
const COMPLETED = { status: 'completed', at: 1 } as const

/** Shows what it costs on Postgres to take runs from the queue, whatever the number of their owners, and to start others meanwhile. */
export async function report(): Promise<void> {
  console.log(`\nthe queue on Postgres: ${NODES} nodes, ${WAITING.toLocaleString()} runs wait\n`)
  const server = await startPostgres({ durable: true, settings: COUNTED }).catch((err: Error) => err)
  if (server instanceof Error) return console.log(`not measured: ${server.message}`)
  const load = await ServerLoad.watch(server.url)
  try {
    for (const owners of OWNERS) await reportOwners(server.url, load, owners)
  } finally {
    await load.close()
    await server.stop()
  }
}

async function reportOwners(url: string, load: ServerLoad, owners: number): Promise<void> {
  const schema = `queue_${owners}`
  const stores = await Promise.all(Array.from({ length: NODES }, () => createStore({ url, schema })))
  const last = await fill(url, schema, owners)
  try {
    const alone = await timeStarts(stores[0]!)
    await load.statements()
    await load.since()
    const begun = performance.now()
    const work = takeAll(stores)
    const beside = await timeStarts(stores[0]!)
    await work
    const elapsed = performance.now() - begun
    const { cpu } = await load.since()
    const takes = (await load.statements()).filter(({ query }) => query.includes('queue_take'))
    for (let count = 0; count < 20; count++) await stores[0]!.runs.find(last)
    const found = (await load.statements()).filter(({ query }) => query.includes('with wanted('))
    const sum = (all: typeof takes, key: 'calls' | 'time') =>
      all.reduce((total, each) => total + each[key], 0)
    line(
      `${owners.toLocaleString()} owners: begun a second`,
      ((TAKEN * 1_000) / elapsed).toFixed(0),
      '≥ 1,000'
    )
    line('  statements of the queue for each, ms', (sum(takes, 'time') / TAKEN).toFixed(2), '≤ 1')
    line('  CPU of Postgres for each, with its end, ms', (cpu / 1_000 / TAKEN).toFixed(2))
    line('  statements of the queue for each', (sum(takes, 'calls') / TAKEN).toFixed(2))
    line('  position of the last run of its owner, ms', (sum(found, 'time') / sum(found, 'calls')).toFixed(1))
    line('  a plain start, p50 ms, alone : beside it', `${alone.toFixed(1)} : ${beside.toFixed(1)}`)
  } finally {
    await Promise.all(stores.map((store) => store.close()))
  }
}

/** Lets runs wait, in turn of each owner; returns the last. */
async function fill(url: string, schema: string, owners: number): Promise<string> {
  const client = new Client(url)
  await client.connect()
  await client.query(
    `insert into ${schema}.run (run_id, registry, kind, name, session_id, owner, created_at, updated_at, status, epoch, bytes, queued_at)
     select lpad(n::text, 9, '0'), 'global', 'agent', 'echo', n, 'owner ' || n % $1, n, n, 'submitted', 0, 0, n
     from generate_series(1, $2::int) n`,
    [owners, WAITING]
  )
  await client.query('vacuum analyze')
  await client.end()
  return String(WAITING).padStart(9, '0')
}

async function takeAll(stores: readonly Store[]): Promise<void> {
  let left = TAKEN
  const work = async ({ queue, log }: Store) => {
    while (left-- > 0) {
      const next = await queue!.next(QUERY)
      if (next === undefined) throw new Error('no run may begin')
      await log.append(next.runId, next.epoch, [textEntry(2)], COMPLETED)
      queue!.ended!(next.runId)
    }
  }
  await Promise.all(stores.flatMap((store) => Array.from({ length: PER_NODE }, () => work(store))))
}

/** Milliseconds that starts of runs take, one after another. */
async function timeStarts({ runs, log }: Store): Promise<number> {
  const times: number[] = []
  for (let count = 0; count < STARTS; count++) {
    const run = storedRun({ runId: randomUUID() })
    const begun = performance.now()
    await runs.create(run)
    times.push(performance.now() - begun)
    await log.append(run.runId, 1, [textEntry(1)], COMPLETED)
  }
  return median(times)
}

function line(what: string, figure: string, target = ''): void {
  console.log(`${what.padEnd(50)} ${figure.padEnd(16)} ${target}`)
}
