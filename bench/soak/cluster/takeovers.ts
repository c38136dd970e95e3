import type { Joined, Leased } from './audit.ts'
import type { Cluster, ClusterOptions } from './cluster.ts'

/** How runs changed hands. */
export interface Takeovers {
  /**
   * Milliseconds of each takeover, from the last moment at which its owner ceased to work, or at which the database and another
   * node were both back.
   */
  readonly times: readonly number[]
  /** Runs that were taken from a node that had worked for longer than its lease, and had renewed it. */
  readonly fromLiving: readonly string[]
  /** The same of a node that had not: on a busy machine a process, or its database, may stand still for as long. */
  readonly fromSilent: readonly string[]
}

// A node whose connections were all ended has so many milliseconds after its next beat to be back.
const RETURNS_WITHIN = 1_000

/** Finds the takeovers among the leases, which are in the order of runs and epochs. */
export function findTakeovers(
  leases: readonly Leased[],
  nodes: readonly Joined[],
  { timeline, cuts }: Pick<Cluster, 'timeline' | 'cuts'>,
  { ttl, beat }: ClusterOptions['lease']
): Takeovers {
  const times: number[] = []
  const fromLiving: string[] = []
  const fromSilent: string[] = []
  for (const [index, { runId, epoch, writer, at }] of leases.entries()) {
    const before = leases[index - 1]
    if (epoch === 1 || before?.runId !== runId || before.writer === writer) continue
    const gone = nodes.findLast(
      (node) => node.writer === before.writer && node.goneAt !== null && node.goneAt <= at
    )
    const lostAt = gone?.goneAt ?? at
    const failed = [before.writer, 'database'].map((what) => timeline.lastFailure(what, lostAt - ttl, lostAt))
    const last = failed.filter((time) => time !== undefined)
    const wasCut = cuts.lastFailure('connections', lostAt - ttl, lostAt) !== undefined
    const limit = wasCut ? Math.min(ttl, beat + RETURNS_WITHIN) : ttl
    if (last.length === 0)
      (gone?.silentFor && gone.silentFor > limit ? fromSilent : fromLiving).push(
        `${runId}: ${before.writer} → ${writer} at ${new Date(at).toISOString()}`
      )
    else times.push(at - Math.max(...last, before.at, timeline.reachableSince(at, before.writer)))
  }
  return { times: times.toSorted((one, other) => one - other), fromLiving, fromSilent }
}
