import type { NumberedPart } from '@svc/registry'

/** What differs between two runs of the same, and in the order of things that happen in parallel. */
const VARYING = [
  'seq',
  'at',
  'durationMs',
  'firstTokenMs',
  'expiresAt',
  'runId',
  'sessionId',
  'approvalId',
  'inputId'
]
/** Parts of calls, which run in parallel. */
const OF_CALLS = /^(?:tool\.approval|tool\.result|tool\.error|input\.|tool\.call:)/

/**
 * What a log says once the void attempts of steps are taken out: the parts of each agent in their order, without times and ids, text that
 * was streamed in pieces as one part. Two runs of the same plan have the same.
 */
export function canonicalLog(log: readonly NumberedPart[]): Record<string, string[]> {
  const bySource: Record<string, string[]> = {}
  const groups = Map.groupBy(withoutVoid(log), ({ source = [] }) => source.join('/'))
  for (const [source, parts] of groups) {
    const lines: string[] = []
    let parallel: string[] = []
    const flush = () => {
      lines.push(...parallel.toSorted())
      parallel = []
    }
    for (const part of joinText(parts)) {
      const isOfCall =
        OF_CALLS.test(part.type) || ('parentToolCallId' in part && part.parentToolCallId !== undefined)
      if (!isOfCall) flush()
      ;(isOfCall ? parallel : lines).push(toLine(part))
    }
    flush()
    bySource[source] = lines
  }
  return bySource
}

// Stores join text that no reader waits for.
function joinText(parts: readonly NumberedPart[]): NumberedPart[] {
  const joined: NumberedPart[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if ((part.type === 'text' || part.type === 'reasoning') && last?.type === part.type)
      joined[joined.length - 1] = { ...last, text: last.text + part.text }
    else joined.push(part)
  }
  return joined
}

/** The parts that count: an `attempt` over 1 voids what the step of the same source said before. */
export function withoutVoid(log: readonly NumberedPart[]): NumberedPart[] {
  let kept: NumberedPart[] = []
  for (const part of log) {
    if (part.type === 'step.start' && part.attempt > 1) {
      const source = JSON.stringify(part.source ?? [])
      const from = kept.findLastIndex(
        (each) => each.type === 'step.start' && JSON.stringify(each.source ?? []) === source
      )
      kept = kept.filter((each, index) => index < from || JSON.stringify(each.source ?? []) !== source)
    }
    kept.push(part)
  }
  return kept
}

function toLine(part: NumberedPart): string {
  // The usage of a finish counts void attempts too.
  const varying = part.type === 'finish' ? [...VARYING, 'usage'] : VARYING
  const shown = Object.entries(part).filter(([name]) => !varying.includes(name))
  return JSON.stringify(
    Object.fromEntries(shown.map(([name, value]) => [name, name === 'attempt' ? 1 : value]))
  )
}
