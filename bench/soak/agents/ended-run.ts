import type { NumberedPart, RunResult, RunStatus } from '@svc/registry'
import { canonicalLog, withoutVoid } from './canonical-log.ts'
import { recall } from './clients.ts'
import { readLog } from './follow-run.ts'
import type { Job } from './random-plan.ts'
import type { Service } from './service.ts'

/** What a client knows of a run that has ended. */
export interface EndedRun {
  status: RunStatus
  error: unknown
  result?: RunResult
  /** Its log as one client received it, across kills. */
  received: NumberedPart[]
  /** Its log, read at once. */
  log: NumberedPart[]
  /** A digest of the conversation that the run left in its session; empty where nothing continues it. */
  recalled: string
}

/** Reads what a run has left. */
export async function collectRun(
  service: Service,
  job: Job,
  runId: string,
  received: NumberedPart[]
): Promise<EndedRun> {
  const record = await service.persist(async (url) => (await fetch(`${url}/api/runs/${runId}`)).json())
  const { status, error, result } = record as EndedRun
  const log = await readLog(service, runId)
  // A workflow has no conversation, and the answers of `clerk` are none.
  const isRecalled = job.kind !== 'workflow' && job.name !== 'clerk' && result !== undefined
  const recalled = isRecalled ? await recall(service, job, result.sessionId) : ''
  return { status, error, ...(result && { result }), received, log, recalled }
}

/** What must not differ between a run that was killed and one that was not. */
export const DIFFERENCES = [
  'did not end',
  'another result than unbroken',
  'another log than unbroken',
  'another session than unbroken',
  'a gap, a duplicate or a change for its reader'
] as const
export type Difference = (typeof DIFFERENCES)[number]

/** Compares a run that was killed with the same that was not; gives each difference with its details. */
export function compareRuns(run: EndedRun, unbroken: EndedRun): [Difference, object][] {
  const { status, error, log, received } = run
  const differences: [Difference, object][] = []
  const compare = (difference: Difference, found: unknown, expected: unknown) => {
    if (JSON.stringify(found) !== JSON.stringify(expected))
      differences.push([difference, { found, expected }])
  }
  const reader = 'a gap, a duplicate or a change for its reader'
  compare(reader, received, log)
  compare(
    reader,
    log.map(({ seq }) => seq),
    log.map((_, index) => index + 1)
  )
  if (status !== 'completed') return [...differences, ['did not end', { status, error }]]
  // A model that was shown an interrupted tool took one more step for it.
  const isInterrupted = hasInterrupted(log)
  // Whose only step was begun again after its end.
  const isPaidTwice = stepsOf(withoutVoid(log)) < stepsOf(log)
  const without = [...(isInterrupted ? ['calls', 'usage'] : []), ...(isPaidTwice ? ['usage'] : [])]
  compare('another result than unbroken', toComparable(run, without), toComparable(unbroken, without))
  if (isInterrupted) return differences
  const [found, expected] = [canonicalLog(log), canonicalLog(unbroken.log)]
  for (const source of new Set([...Object.keys(found), ...Object.keys(expected)]))
    compare('another log than unbroken', found[source], expected[source])
  compare('another session than unbroken', run.recalled, unbroken.recalled)
  return differences
}

function hasInterrupted(log: readonly NumberedPart[]): boolean {
  return log.some((part) => part.type === 'tool.error' && part.error.code === 'RUN_ERR_TOOL_INTERRUPTED')
}

function stepsOf(log: readonly NumberedPart[]): number {
  return log.filter(({ type }) => type === 'step').length
}

function toComparable({ result }: EndedRun, without: readonly string[]): object {
  const { text, structured, finishReason, usage, toolCalls } = result!
  const calls = toolCalls.map(({ durationMs: _, ...call }) => JSON.stringify(call)).toSorted()
  const all = { text, structured, finishReason, usage, calls }
  return Object.fromEntries(Object.entries(all).filter(([name]) => !without.includes(name)))
}
