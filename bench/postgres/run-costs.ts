import { setTimeout as pause } from 'node:timers/promises'
import { COUNTS_SETTLE, ServerLoad, type Load } from '@tools/postgres'
import { Client } from 'pg'
import { startServer, type ServerProcess } from '../server-process.ts'
import { call, type Calls } from './callers.ts'

/** What runs cost, each one on average. */
export interface RunCosts {
  /** Milliseconds of CPU time of the nodes. */
  readonly node: number
  /** The most memory that a node had, in MB. */
  readonly memory: number
  /** What Postgres did; undefined of other stores. `hot` is the share of updates of `run` of which no index had to know. */
  readonly server: (Load & { readonly hot: number }) | undefined
  /** Requests that were refused, by status and code. */
  readonly refused: Readonly<Record<string, number>>
}

const WARM_UP: Calls = { runs: 300, callers: 10, turns: 4 }

/** Measures what runs cost that are started over HTTP. @param url of Postgres, of SQLite, or empty for memory */
export async function measureRuns(url: string, nodes: number, calls: Calls): Promise<RunCosts> {
  const load = url.startsWith('postgres:') ? await ServerLoad.watch(url) : undefined
  const servers: ServerProcess[] = []
  try {
    for (let index = 0; index < nodes; index++)
      servers.push(await startServer('node', 'postgres/serve-node.ts', url))
    const urls = servers.map((server) => server.url)
    await call(urls, WARM_UP)
    if (load !== undefined) await settle(load)
    const cpu = () => servers.reduce((sum, server) => sum + server.cpu(), 0)
    const from = cpu()
    const refused = await call(urls, calls)
    if (calls.background) await allEnded(url)
    const node = (cpu() - from) / 1_000 / calls.runs
    const memory = Math.max(...servers.map((server) => server.peakRss())) / 1e6
    return { node, memory, server: load && (await perRun(load, calls.runs)), refused }
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
    await load?.close()
  }
}

// Statements, bytes and CPU time are counted at once; of what comes later the idle nodes add next to nothing.
async function perRun(load: ServerLoad, runs: number): Promise<RunCosts['server']> {
  const now = await load.since()
  const { commits, rollbacks, updates, hotUpdates, scanned } = await settle(load)
  const all: Load = {
    ...now,
    commits: now.commits + commits,
    rollbacks: now.rollbacks + rollbacks,
    updates: now.updates + updates,
    hotUpdates: now.hotUpdates + hotUpdates,
    scanned: now.scanned + scanned
  }
  const each = Object.fromEntries(Object.entries(all).map(([name, count]) => [name, count / runs]))
  return { ...(each as unknown as Load), hot: all.hotUpdates / Math.max(1, all.updates) }
}

async function settle(load: ServerLoad): Promise<Load> {
  await pause(COUNTS_SETTLE)
  return await load.since()
}

async function allEnded(url: string): Promise<void> {
  const client = new Client(url)
  await client.connect()
  const count = 'select /* counted */ count(*)::int as count from run where ended_at is null'
  while ((await client.query<{ count: number }>(count)).rows[0]!.count > 0) await pause(100)
  await client.end()
}
