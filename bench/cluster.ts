import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { COUNTED, ServerLoad, startPostgres, type Postgres } from '@tools/postgres'
import { measureStandstill, type NodeEnd } from './cluster/changes-of-hands.ts'
import { NodeProcess } from './cluster/node-process.ts'
import type { RunCost, Written } from './cluster/run-cost.ts'
import type { Asked, Reported } from './cluster/streams.ts'
import { median, percentile } from './figures.ts'

const NODES = 3
const STREAMED = 5_000

type Kind = 'memory' | 'SQLite' | 'Postgres'

/** Shows what runs cost on Postgres beside SQLite and memory, and how fast parts reach readers on another node. */
export async function report(rounds: number): Promise<void> {
  console.log('\nnodes on one Postgres\n')
  const server = await startPostgres({ durable: true, settings: COUNTED }).catch((err: Error) => err)
  if (server instanceof Error) return console.log(`not measured: ${server.message}`)
  try {
    await reportConnections(server)
    await reportRuns(server, rounds)
    await reportStreams(server, rounds)
    await reportStandstill(server, 'closed', 'node closes', 'p99 ≤ 1,000')
    await reportStandstill(server, 'killed', 'node is killed', 'p99 ≤ 15,000')
  } finally {
    await server.stop()
  }
}

async function reportRuns(server: Postgres, rounds: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  const urls: Record<Kind, string> = {
    memory: '',
    SQLite: `sqlite:${join(folder, 'bench.db')}`,
    Postgres: server.url
  }
  for (const written of ['data', 'text'] as const) {
    const costs: Record<Kind, RunCost[]> = { memory: [], SQLite: [], Postgres: [] }
    for (let round = 0; round < rounds; round++)
      for (const kind of Object.keys(urls) as Kind[]) costs[kind].push(await runAlone(urls[kind], written))
    reportCosts(written === 'data' ? '20 parts' : '20 increments of text without a reader', costs)
  }
  await rm(folder, { recursive: true })
}

function reportCosts(what: string, costs: Readonly<Record<Kind, readonly RunCost[]>>): void {
  const each = (key: keyof RunCost) =>
    Object.entries(costs)
      .map(([kind, all]) => `${kind} ${median(all.map((cost) => cost[key])).toFixed(key === 'p50' ? 1 : 0)}`)
      .join(', ')
  line(`runs of ${what} per second, 50 at once`, each('runsPerSecond'), 'Postgres ≥ 2 × SQLite')
  line('  CPU of the node per run, µs', each('cpuPerRun'), 'Postgres ≤ 150, or SQLite')
  line('  time of a run, p50 ms', each('p50'))
}

async function runAlone(url: string, written: Written): Promise<RunCost> {
  const node = new NodeProcess('run-cost.ts', url, written)
  try {
    return await node.next<RunCost>()
  } finally {
    await node.stop()
  }
}

async function reportStreams(server: Postgres, rounds: number): Promise<void> {
  const calm: Streamed[] = []
  const full: Streamed[] = []
  for (let round = 0; round < rounds; round++) {
    calm.push(await stream(server, 20, 50))
    full.push(await stream(server, 200, null))
  }
  const of = (all: readonly Streamed[], pick: (each: Streamed) => number, digits = 0) =>
    median(all.map(pick)).toFixed(digits)
  line(
    '20 runs with 50 parts/s: delay to another node, ms',
    `p50 ${of(calm, ({ p50 }) => p50, 1)}, p99 ${of(calm, ({ p99 }) => p99, 1)}`,
    'p50 ≤ 10'
  )
  line(
    '  control: how late a timer is, p50 ms',
    of(calm, ({ lag }) => lag, 1)
  )
  line(
    'parts per second, 200 runs, read on another node',
    of(full, ({ rate }) => rate),
    '≥ 30,000'
  )
  line(
    '  CPU per part, µs',
    `writer ${of(full, ({ cpu }) => cpu)}, reader ${of(full, ({ readerCpu }) => readerCpu)}, server ${of(full, ({ serverCpu }) => serverCpu)}`
  )
  const gaps = [...calm, ...full].reduce((sum, each) => sum + each.gaps, 0)
  line('gaps and repetitions at the readers', String(gaps), '0')
}

async function reportStandstill(server: Postgres, end: NodeEnd, when: string, target: string): Promise<void> {
  const times = await measureStandstill(server.url, `bench_${end}`, end)
  const [p50, p99] = [0.5, 0.99].map((share) => percentile(times, share).toFixed(0))
  line(`100 workflows whose ${when}: until another has them, ms`, `p50 ${p50}, p99 ${p99}`, target)
}

interface Streamed {
  readonly rate: number
  readonly p50: number
  readonly p99: number
  readonly lag: number
  readonly gaps: number
  readonly cpu: number
  readonly readerCpu: number
  readonly serverCpu: number
}

async function stream(server: Postgres, runs: number, rate: number | null): Promise<Streamed> {
  const [writer, reader] = [
    new NodeProcess('streams.ts', server.url),
    new NodeProcess('streams.ts', server.url)
  ]
  const load = await ServerLoad.watch(server.url)
  try {
    for (const node of [writer, reader]) await expect(node, 'ready')
    const lag = measureLag()
    const ask: Asked = { type: 'produce', runs, rate, duration: STREAMED }
    writer.send(ask)
    const { runIds } = await expect(writer, 'started')
    reader.send({ type: 'follow', runIds } satisfies Asked)
    const { parts, elapsed, cpu } = await expect(writer, 'produced')
    reader.send({ type: 'finish' } satisfies Asked)
    const followed = await expect(reader, 'followed')
    const used = await load.since()
    const sorted = followed.delays.toSorted((a, b) => a - b)
    return {
      rate: (parts * 1_000) / elapsed,
      p50: percentile(sorted, 0.5),
      p99: percentile(sorted, 0.99),
      lag: await lag(),
      gaps: followed.gaps + Math.abs(parts - followed.delays.length),
      cpu: cpu / parts,
      readerCpu: followed.cpu / parts,
      serverCpu: used.cpu / parts
    }
  } finally {
    await Promise.all([writer.stop(), reader.stop(), load.close()])
  }
}

// What a machine does to any timer meanwhile.
function measureLag(): () => Promise<number> {
  const late: number[] = []
  const stopped = new AbortController()
  const watching = (async () => {
    while (!stopped.signal.aborted) {
      const due = performance.now() + 5
      await sleep(5)
      late.push(performance.now() - due)
    }
  })()
  return async () => {
    stopped.abort()
    await watching
    return median(late)
  }
}

async function reportConnections(server: Postgres): Promise<void> {
  const nodes = Array.from({ length: NODES }, () => new NodeProcess('streams.ts', server.url))
  const load = await ServerLoad.watch(server.url)
  try {
    for (const node of nodes) await expect(node, 'ready')
    const others = (await load.connections()) * (1 - 1 / NODES)
    nodes[0]!.send({ type: 'produce', runs: 50, rate: 20, duration: 2_000 } satisfies Asked)
    await expect(nodes[0]!, 'started')
    const busy = (await load.connections()) - others
    await expect(nodes[0]!, 'produced')
    line('connections of a busy node at most', busy.toFixed(0), '≤ 9')
  } finally {
    await Promise.all([...nodes.map((node) => node.stop()), load.close()])
  }
}

async function expect<T extends Reported['type']>(
  node: NodeProcess,
  type: T
): Promise<Extract<Reported, { type: T }>> {
  const reported = await node.next<Reported>()
  if (reported.type !== type) throw new Error(`expected ${type}, found ${reported.type}`)
  return reported as Extract<Reported, { type: T }>
}

function line(what: string, value: string, target?: string): void {
  console.log(
    `${what.padEnd(72)}${value.padEnd(48)}${target === undefined ? '' : `target ${target}`}`.trimEnd()
  )
}
