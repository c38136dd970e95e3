import { setTimeout as pause } from 'node:timers/promises'
import { Random } from '../random.ts'
import { Audit } from './audit.ts'
import { SURFACES } from './clients.ts'
import { createCluster, type ClusterOptions } from './cluster.ts'
import { readEffects } from './effects.ts'
import { Faults, type FaultTimes } from './faults.ts'
import { compareLogs, type LogFaults } from './logs.ts'
import { Reach } from './reach.ts'
import { findRepeated, type Repeated } from './repeated-steps.ts'
import { ANSWERS, type RunnableName } from './runnables.ts'
import { findTakeovers, type Takeovers } from './takeovers.ts'
import { watchRun, type WatchedRun } from './watched-run.ts'

/** How much chaos. */
export interface ChaosOptions extends ClusterOptions {
  readonly runs: number
  /** Runs at once. */
  readonly atOnce: number
  readonly seed: number
  readonly times: FaultTimes
}

/** What came of it. */
export interface Chaos {
  readonly runs: number
  readonly counts: Faults['counts']
  readonly logs: LogFaults
  readonly steps: Repeated
  readonly takeovers: Takeovers
  /** Writes to a run by a process that did not have it. */
  readonly stale: readonly object[]
  /** Processes that ended by themselves. */
  readonly crashes: readonly string[]
  /** Runs that have not ended, acknowledged or not. */
  readonly stuck: readonly string[]
  /** Runs that were never acknowledged, and why. */
  readonly refused: readonly string[]
  /** The most memory that a node uses at the end, in bytes. */
  readonly memory: number
}

const NAMES = Object.keys(ANSWERS) as RunnableName[]
/** Milliseconds beyond the lease within which every run must end once nothing goes wrong any more. */
const ENDS_WITHIN = 10_000

/** Runs agents and workflows on several nodes while everything fails at random, and compares what remains. */
export async function runChaos({ runs, atOnce, seed, times, ...options }: ChaosOptions): Promise<Chaos> {
  const random = new Random(seed)
  const cluster = createCluster(options)
  try {
    await cluster.nodes[0]!.start()
    const audit = await Audit.begin(cluster.postgres.url)
    await Promise.all(cluster.nodes.slice(1).map((node) => node.start()))
    const over = new AbortController()
    const reach = new Reach(cluster.nodes, random, over.signal)
    const watched: WatchedRun[] = []
    const refused: string[] = []
    let left = runs
    const client = async () => {
      while (left-- > 0) {
        const watching = watchRun(reach, random, random.pick(NAMES), random.pick(SURFACES))
        await watching.then(
          (run) => watched.push(run),
          (err: Error) => refused.push(err.message)
        )
      }
    }
    const faults = new Faults(cluster, audit, random, times)
    const load = Promise.all(Array.from({ length: atOnce }, client))
    await Promise.race([load, whenBelow(() => left, 0)])
    await faults.stop()
    const calm = setTimeout(() => over.abort(), options.lease.ttl + ENDS_WITHIN)
    await load
    clearTimeout(calm)
    const memory = await Promise.all(cluster.nodes.map(({ url }) => memoryOf(url!)))
    const leases = await audit.leases()
    return {
      runs: watched.length,
      counts: faults.counts,
      logs: compareLogs(watched, await audit.parts()),
      steps: findRepeated(readEffects(cluster.effects), await audit.steps(), leases, cluster.stops),
      takeovers: findTakeovers(leases, await audit.nodes(), cluster.timeline, options.lease.ttl),
      stale: await audit.stale(),
      stuck: await audit.stuck(),
      crashes: cluster.nodes.flatMap(({ crashes }) => crashes),
      refused,
      memory: Math.max(...memory)
    }
  } finally {
    await cluster.close()
  }
}

async function whenBelow(count: () => number, limit: number): Promise<void> {
  while (count() > limit) await pause(100, undefined, { ref: false })
}

async function memoryOf(url: string): Promise<number> {
  const response = await fetch(`${url}/memory`)
  return ((await response.json()) as NodeJS.MemoryUsage).rss
}
