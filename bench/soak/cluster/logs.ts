import type { StoredPart } from './audit.ts'
import type { Conversation } from './conversation.ts'
import type { WatchedRun } from './watched-run.ts'

/** What is wrong with logs and what readers made of them. */
export interface LogFaults {
  /** Parts that a reader did not get, or got twice, or otherwise than another or the store. */
  readonly readers: readonly string[]
  /** Logs with holes. */
  readonly holes: readonly string[]
  /** Runs that ended otherwise than they should. */
  readonly ends: readonly string[]
}

/**
 * Compares what the readers of each run received with its log.
 * @param poisoned runs that may end with an error
 */
export function compareLogs(
  runs: readonly WatchedRun[],
  stored: readonly StoredPart[],
  poisoned: readonly string[] = []
): LogFaults {
  const parts = Map.groupBy(stored, ({ runId }) => runId)
  const logs = toLogs(stored)
  const readers: string[] = []
  const ends: string[] = []
  for (const { runId, name, answer, readings, faults } of runs) {
    const log = logs.get(runId) ?? []
    for (const { formOf, received } of readings)
      if (faults.length === 0) readers.push(...differences(`${name} ${runId}`, received, log.map(formOf)))
    const end = faultOfEnd(log, answer)
    if (faults.length > 0) ends.push(`${name} ${runId}: ${faults.join('; ')}`)
    else if (end !== undefined && !poisoned.includes(runId)) ends.push(`${name} ${runId}: ${end}`)
  }
  const holes = [...parts].filter(([, log]) => log.some(({ seq }, index) => seq !== index + 1))
  return { readers, ends, holes: holes.map(([runId]) => runId) }
}

/** Compares what the reader of each session received with the logs of its runs, one after the other; those that failed may not be in it. */
export function compareChannels(sessions: readonly Conversation[], stored: readonly StoredPart[]): string[] {
  const logs = toLogs(stored)
  const failed = findFailed(stored)
  return sessions.flatMap(({ turns, channel, faults }) => {
    if (faults.length > 0) return faults
    const runIds = turns.map(({ run }) => run.runId).filter((runId) => !failed.has(runId))
    const log = runIds.flatMap((runId) =>
      (logs.get(runId) ?? []).map((json) => sortFields({ ...(JSON.parse(json) as object), runId }))
    )
    const parts = channel.map((json) => JSON.parse(json) as { runId: string })
    const received = parts.filter(({ runId }) => !failed.has(runId)).map(sortFields)
    return differences(`session of ${turns[0]?.id}`, received, log)
  })
}

/** Finds the runs whose logs end with an error. */
export function findFailed(stored: readonly StoredPart[]): Set<string> {
  const failed = [...toLogs(stored)].filter(([, log]) => typeOfLast(log) === 'error')
  return new Set(failed.map(([runId]) => runId))
}

// Those of a session have their run, in another place.
function sortFields(part: object): string {
  return JSON.stringify(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

// The JSON of the parts of each run.
function toLogs(stored: readonly StoredPart[]): ReadonlyMap<string, readonly string[]> {
  const byRun = Map.groupBy(stored, ({ runId }) => runId)
  return new Map([...byRun].map(([runId, log]) => [runId, log.map(({ json }) => json)]))
}

function differences(what: string, received: readonly string[], log: readonly string[]): string[] {
  if (received.join('\n') === log.join('\n')) return []
  const at = log.findIndex((form, index) => form !== received[index])
  if (at === -1) return [`${what}: received ${received.length} parts instead of ${log.length}`]
  return [`${what}: received ${received[at]} instead of ${log[at]}`]
}

function typeOfLast(log: readonly string[]): string | undefined {
  return log.length === 0 ? undefined : (JSON.parse(log.at(-1)!) as { type: string }).type
}

function faultOfEnd(log: readonly string[], answer: string): string | undefined {
  if (log.length === 0) return 'it has no log'
  const last = log.at(-1)!
  const { finishReason } = JSON.parse(last) as { finishReason?: string }
  if (typeOfLast(log) !== 'finish' || finishReason === 'canceled') return last
  const found = answerOf(log)
  return found === answer ? undefined : `it answered ${found} instead of ${answer}`
}

// The text of the run itself, without what counts no more because its step was begun again.
function answerOf(log: readonly string[]): string {
  let text = ''
  for (const json of log) {
    const part = JSON.parse(json) as { type: string; text?: string; source?: string[]; index?: number }
    if (part.source !== undefined) continue
    if (part.type === 'step.start') text = ''
    if (part.type === 'text') text += part.text
  }
  return text
}
