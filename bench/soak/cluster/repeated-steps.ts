import type { Leased, RecordedStep } from './audit.ts'
import type { Effect } from './effects.ts'
import type { Timeline } from './timeline.ts'

/** What steps did more than once. */
export interface Repeated {
  /** Effects of steps that were recorded before. */
  readonly recorded: readonly string[]
  /** The same of a process that had lost the run while it was stopped, or stood still, between the beginning of the step and its effect. */
  readonly stopped: number
  /** Effects that must not be repeated, and were. */
  readonly once: readonly string[]
  /** Steps whose process died between their effect and their record. */
  readonly interrupted: number
}

// Milliseconds that a process needs to do what it was doing when it was stopped.
const IN_PROGRESS = 1_000
// Milliseconds that a process may stand still and not count as stopped.
const STILL = 200

/** Compares effects with what was recorded, and when. */
export function findRepeated(
  effects: readonly Effect[],
  steps: readonly RecordedStep[],
  leases: readonly Leased[],
  stops: Timeline
): Repeated {
  // Other keys are the engine's own.
  const ofPaths = steps.filter(({ key }) => key.startsWith('['))
  const recordedAt = new Map(ofPaths.map(({ runId, key, at }) => [toEffectKey(runId, key), at]))
  const byRun = Map.groupBy(leases, ({ runId }) => runId)
  const ownerAt = (runId: string, at: number) => byRun.get(runId)?.findLast((lease) => lease.at <= at)?.writer
  const recorded: string[] = []
  const once: string[] = []
  const seen = new Set<string>()
  let interrupted = 0
  let stopped = 0
  for (const { key, kind, writer, at, stood } of effects) {
    const isRepeated = seen.has(key)
    seen.add(key)
    const stepAt = recordedAt.get(key)
    // Whole milliseconds are compared with fractions.
    if (isRepeated && stepAt !== undefined && stepAt < at) {
      const hadLost = ownerAt(key.split(/[/:]/)[0]!, at) !== writer
      const wasStopped = stood > STILL || stops.lastFailure(writer, at - IN_PROGRESS, at) !== undefined
      if (hadLost && wasStopped) stopped++
      else recorded.push(`${key} by ${writer}, ${hadLost ? 'which had lost it' : 'which had it'}`)
    } else if (isRepeated && kind === 'once') once.push(`${key} by ${writer}`)
    else if (isRepeated) interrupted++
  }
  return { recorded, stopped, once, interrupted }
}

// `["p","l#output"]` is the record of the step whose idempotency key is `<run>/p/l`, `["#call c1"]` that of the call `<run>:c1`.
function toEffectKey(runId: string, key: string): string {
  const path = JSON.parse(key) as string[]
  const call = /^#call (.*)$/.exec(path.at(-1)!)?.[1]
  if (call !== undefined) return `${[runId, ...path.slice(0, -1)].join('/')}:${call}`
  return [runId, ...path].join('/').replace(/#output$/, '')
}
