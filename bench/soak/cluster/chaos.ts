import { Random } from '../random.ts'
import { Audit } from './audit.ts'
import { startRun, SURFACES } from './clients.ts'
import { converse, type Conversation } from './conversation.ts'
import { createCluster, type ClusterOptions } from './cluster.ts'
import { readEffects } from './effects.ts'
import { Faults, type FaultTimes } from './faults.ts'
import { findMisfired, scheduleOnce } from './fired-schedules.ts'
import { compareChannels, compareLogs, findFailed, type LogFaults } from './logs.ts'
import { findPoisoned } from './poisoned.ts'
import { Reach } from './reach.ts'
import { findRepeated, type Repeated } from './repeated-steps.ts'
import { ANSWERS, WORKFLOWS, type RunnableName } from './runnables.ts'
import { compareShown } from './shown.ts'
import { findSilences, type Silences } from './silences.ts'
import { findTakeovers, type Takeovers } from './takeovers.ts'
import { watchRun, type Client, type WatchedRun } from './watched-run.ts'

/** How much chaos. */
export interface ChaosOptions extends ClusterOptions {
  readonly runs: number
  /** Runs at once. */
  readonly atOnce: number
  readonly seed: number
  readonly times: FaultTimes
  /** The share of what clients do that is a conversation, from 0 to 1. */
  readonly conversations: number
  /** Milliseconds until schedules fire, at least and at most. */
  readonly schedules: readonly [number, number]
}

/** What came of it. */
export interface Chaos {
  readonly runs: number
  readonly sessions: number
  readonly counts: Faults['counts']
  readonly logs: LogFaults
  /** Readers of sessions with gaps, repetitions or changed parts. */
  readonly channels: readonly string[]
  /** Turns whose model was shown something else than the turns before it. */
  readonly shown: readonly string[]
  /** Schedules that have not fired exactly once. */
  readonly misfired: readonly string[]
  readonly steps: Repeated
  /** Runs that ended because their process had died five times without progress. */
  readonly poisoned: readonly string[]
  readonly takeovers: Takeovers
  readonly silences: Silences
  /** Writes to a run by a process that did not have it. */
  readonly stale: readonly object[]
  /** Runs that lost their place in their session, and were given another one. */
  readonly displaced: readonly string[]
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
const ENDS_WITHIN = 15_000
// Milliseconds without a part after which nothing more is expected while things go wrong.
const STALLED = 60_000
// Turns of a session.
const MOST_TURNS = 6
const SCHEDULES = 0.05

/** Uses several nodes as clients do while everything fails at random, and compares what remains. */
export async function runChaos(given: ChaosOptions): Promise<Chaos> {
  const { seed, times, atOnce, ...options } = given
  const random = new Random(seed)
  const cluster = createCluster(options)
  try {
    await cluster.nodes[0]!.start()
    const audit = await Audit.begin(cluster.postgres.url)
    await Promise.all(cluster.nodes.slice(1).map((node) => node.start()))
    const over = new AbortController()
    const load = new Load(new Reach(cluster.nodes, random, over.signal), random, given)
    const faults = new Faults(cluster, audit, random, times, () => load.received)
    const loading = Promise.all(Array.from({ length: atOnce }, () => load.repeat()))
    await Promise.race([loading, load.nearlyDone()])
    await faults.stop()
    const calm = setTimeout(() => over.abort(), options.lease.ttl + ENDS_WITHIN)
    await loading
    clearTimeout(calm)
    const misfired = await findMisfired(new Reach(cluster.nodes, random, new AbortController().signal))
    const memory = await Promise.all(cluster.nodes.map(({ url }) => memoryOf(url!)))
    const leases = await audit.leases()
    const stored = await audit.parts()
    const steps = await audit.steps()
    const poisoned = findPoisoned(stored, leases, steps)
    const { sessions, refused } = load
    const watched = [...load.watched, ...sessions.flatMap(({ turns }) => turns.map(({ run }) => run))]
    const failed = findFailed(stored)
    const accepted = sessions.map(({ turns }) =>
      turns.map(({ id, run }) => ({ id, hasFailed: failed.has(run.runId) }))
    )
    return {
      runs: watched.length,
      sessions: sessions.length,
      counts: faults.counts,
      logs: compareLogs(watched, stored, poisoned),
      channels: compareChannels(sessions, stored),
      shown: compareShown(cluster.shown, accepted),
      misfired,
      poisoned,
      steps: findRepeated(readEffects(cluster.effects), steps, leases, cluster.stops),
      takeovers: findTakeovers(leases, await audit.nodes(), cluster, options.lease),
      silences: findSilences(watched, faults.broken),
      stale: await audit.stale(),
      displaced: await audit.displaced(),
      stuck: await audit.stuck(),
      crashes: cluster.nodes.flatMap(({ crashes }) => crashes),
      refused,
      memory: Math.max(...memory)
    }
  } finally {
    await cluster.close()
  }
}

/** The clients. */
class Load {
  readonly #client: Client
  readonly #options: ChaosOptions
  readonly watched: WatchedRun[] = []
  readonly sessions: Conversation[] = []
  readonly refused: string[] = []
  /** Parts that the readers of runs have received. */
  received = 0
  readonly #nearlyDone = Promise.withResolvers<void>()
  #left: number
  #open: number

  constructor(reach: Reach, random: Random, options: ChaosOptions) {
    this.#client = { reach, random, received: () => void this.received++ }
    this.#options = options
    this.#left = options.runs
    this.#open = options.runs - options.atOnce
  }

  /** One client, which does one thing after the other until all runs are started. */
  async repeat(): Promise<void> {
    while (this.#left > 0) await this.#act().catch((err: Error) => this.refused.push(err.message))
  }

  /** Resolves once all runs but those that are made at once have ended, or their readers receive nothing any more. */
  async nearlyDone(): Promise<void> {
    let seen = -1
    const watch = setInterval(() => {
      if (this.received === seen) this.#nearlyDone.resolve()
      seen = this.received
    }, STALLED)
    await this.#nearlyDone.promise
    clearInterval(watch)
  }

  async #act(): Promise<void> {
    const { reach, random } = this.#client
    if (random.chance(SCHEDULES)) await scheduleOnce(reach, random, this.#options.schedules)
    if (random.chance(this.#options.conversations)) {
      const turns = 2 + random.below(MOST_TURNS - 1)
      this.#left -= turns
      this.sessions.push(await converse(this.#client, turns))
      this.#close(turns)
    } else {
      this.#left--
      const name = random.pick(NAMES)
      const kind = WORKFLOWS.includes(name) ? 'workflow' : 'agent'
      const surface = kind === 'agent' ? random.pick(SURFACES) : 'http'
      const started = await startRun(reach, { kind, name, input: 'Go.', surface }, random)
      this.watched.push(await watchRun(this.#client, name, ANSWERS[name], started))
      this.#close(1)
    }
  }

  #close(runs: number): void {
    this.#open -= runs
    if (this.#open <= 0) this.#nearlyDone.resolve()
  }
}

async function memoryOf(url: string): Promise<number> {
  const response = await fetch(`${url}/memory`)
  return ((await response.json()) as NodeJS.MemoryUsage).rss
}
