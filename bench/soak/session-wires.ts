import { startPostgres } from '@tools/postgres'
import { Audit } from './cluster/audit.ts'
import { createCluster, type ClusterOptions } from './cluster/cluster.ts'
import { Faults, type FaultTimes } from './cluster/faults.ts'
import { Reach } from './cluster/reach.ts'
import type { Finding } from './finding.ts'
import { Random } from './random.ts'
import type { ReadCounts, Reading } from './session-wires/connections.ts'
import { watchSession, type SessionReport } from './session-wires/watched-session.ts'

/** How often streams of sessions are cut, and what goes wrong meanwhile. */
export interface CutOptions extends ClusterOptions {
  /** Of connections, in the middle, by their readers. */
  readonly cuts: number
  /** Events until a reader cuts its connection, at most. */
  readonly mostEvents: number
  /** Kills of nodes, at least. */
  readonly kills: number
  /** Sessions at once. */
  readonly atOnce: number
  readonly seed: number
  readonly times: FaultTimes
}

/** What came of it. */
export interface CutReport {
  readonly sessions: readonly SessionReport[]
  readonly read: ReadCounts
  readonly counts: Faults['counts']
  /** Processes that ended by themselves. */
  readonly crashes: readonly string[]
}

// Messages of a session.
const MOST_MESSAGES = 4
/** Milliseconds within which every session must end once nothing goes wrong any more. */
const ENDS_WITHIN = 120_000

/** Plays sessions over both wires, whose readers cut their streams again and again, on nodes that are killed and restarted. */
export async function cutStreams(options: CutOptions): Promise<CutReport> {
  const random = new Random(options.seed)
  const cluster = createCluster(options)
  try {
    await cluster.nodes[0]!.start()
    const audit = await Audit.begin(cluster.postgres.url)
    await Promise.all(cluster.nodes.slice(1).map((node) => node.start()))
    const over = new AbortController()
    const read: ReadCounts = { events: 0, cuts: 0 }
    const reading: Reading = {
      reach: new Reach(cluster.nodes, random, over.signal),
      random,
      mostEvents: options.mostEvents,
      counts: read
    }
    const faults = new Faults(cluster, audit, random, options.times, () => read.events)
    const sessions: SessionReport[] = []
    const enough = Promise.withResolvers<void>()
    const play = async () => {
      while (read.cuts < options.cuts || faults.counts.kills < options.kills)
        sessions.push(await watchSession(reading, 1 + random.below(MOST_MESSAGES)))
      enough.resolve()
    }
    const playing = Promise.all(Array.from({ length: options.atOnce }, play))
    await Promise.race([playing, enough.promise])
    await faults.stop()
    const calm = setTimeout(() => over.abort(), ENDS_WITHIN)
    await playing
    clearTimeout(calm)
    return { sessions, read, counts: faults.counts, crashes: cluster.nodes.flatMap(({ crashes }) => crashes) }
  } finally {
    await cluster.close()
  }
}

/** What went wrong, by what it is. */
export function faultsOfCuts({ sessions, crashes }: CutReport) {
  return {
    'events of sessions that a reader missed, or no list has': sessions.flatMap(({ lost }) => lost),
    'events of sessions that a reader got twice': sessions.flatMap(({ twice }) => twice),
    'sessions idle before their message, and readings that differ': sessions.flatMap(({ faults }) => faults),
    'processes that ended by themselves': crashes
  }
}

/** Sessions over the APIs of vendors while their streams are cut and their nodes, their networks and the database fail. */
export async function soakSessionWires(cuts: number, seed: number): Promise<Finding[]> {
  const report = await cutStreams({
    postgres: await startPostgres(),
    cuts,
    mostEvents: 5,
    kills: Math.ceil(cuts / 250),
    atOnce: 16,
    seed,
    lease: { ttl: 4_000, beat: 800 },
    clockShifts: [-300_000, 0, 300_000],
    times: {
      kill: [3_000, 6_000],
      restart: [8_000, 16_000],
      stop: [15_000, 30_000],
      away: [5_000, 7_000],
      network: [15_000, 30_000],
      crash: [20_000, 40_000],
      down: [1_000, 4_000],
      disconnect: [10_000, 20_000],
      progress: 200
    }
  })
  const { sessions, read, counts } = report
  console.log(
    `${read.cuts} cuts, ${sessions.length} sessions, ${read.events} events, seed ${seed}: ${JSON.stringify(counts)}`
  )
  return Object.entries(faultsOfCuts(report)).map(([what, all]) => {
    for (const each of all.slice(0, 20)) console.error(`${what}: ${each}`)
    return { what, value: all.length, limit: 0, unit: '' }
  })
}
