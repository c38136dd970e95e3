import type { StoredPart } from './audit.ts'
import type { WatchedRun } from './watched-run.ts'
import { ANSWERS } from './runnables.ts'

/** What is wrong with logs and what readers made of them. */
export interface LogFaults {
  /** Parts that a reader did not get, or got twice, or otherwise than another or the store. */
  readonly readers: readonly string[]
  /** Logs with holes. */
  readonly holes: readonly string[]
  /** Runs that ended otherwise than they should. */
  readonly ends: readonly string[]
}

/** Compares what the readers of each run received with its log. */
export function compareLogs(runs: readonly WatchedRun[], stored: readonly StoredPart[]): LogFaults {
  const logs = Map.groupBy(stored, ({ runId }) => runId)
  const readers: string[] = []
  const ends: string[] = []
  for (const { runId, name, received, faults } of runs) {
    const log = (logs.get(runId) ?? []).map(({ json }) => json)
    for (const [index, parts] of received.entries())
      if (faults.length === 0 && parts.join('\n') !== log.join('\n'))
        readers.push(`${name} ${runId}: reader ${index} received ${difference(parts, log)}`)
    const end = faultOfEnd(log.at(-1), name, log)
    if (faults.length > 0) ends.push(`${name} ${runId}: ${faults.join('; ')}`)
    else if (end !== undefined) ends.push(`${name} ${runId}: ${end}`)
  }
  const holes = [...logs].filter(([, log]) => log.some(({ seq }, index) => seq !== index + 1))
  return { readers, ends, holes: holes.map(([runId]) => runId) }
}

function difference(parts: readonly string[], log: readonly string[]): string {
  const at = log.findIndex((json, index) => json !== parts[index])
  if (at === -1) return `${parts.length} parts instead of ${log.length}`
  return `${parts[at]} instead of ${log[at]}`
}

function faultOfEnd(
  last: string | undefined,
  name: WatchedRun['name'],
  log: readonly string[]
): string | undefined {
  if (last === undefined) return 'it has no log'
  const { type, finishReason } = JSON.parse(last) as { type: string; finishReason?: string }
  if (type !== 'finish' || finishReason === 'canceled') return last
  const answer = answerOf(log)
  return answer === ANSWERS[name] ? undefined : `it answered ${answer} instead of ${ANSWERS[name]}`
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
