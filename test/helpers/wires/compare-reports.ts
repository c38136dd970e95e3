import type { Report, ReportedCall, Wire } from './wire.ts'

/**
 * What a wire has to report of a run, and what it has reported, to be the same: without what the wire hides by design. What a run asked may be
 * hidden in part, so that each request that is shown must be one of the run.
 */
export function toComparable(
  { hides }: Pick<Wire, 'hides'>,
  expected: Report,
  found: Partial<Report>
): [expected: object, found: object] {
  const asked = found.asked ?? []
  const isPartOf = hides.asked !== undefined && asked.every((each) => expected.asked.includes(each))
  const visible = (report: Partial<Report>): object => {
    const { calls, ...rest } = report
    const shown = Object.entries({ ...rest, ...(isPartOf && { asked: [] }) }).filter(
      ([name, value]) => (name === 'asked' || !(name in hides)) && value !== undefined
    )
    return {
      ...Object.fromEntries(shown),
      ...(hides.calls === undefined && { calls: visibleCalls(calls ?? [], hides) })
    }
  }
  // The value of a run that says nothing is its text.
  const { text, structured } = expected
  const isValue =
    hides.structured !== undefined && text === '' && structured !== null && structured !== undefined
  const wanted = isValue ? { ...expected, text: JSON.stringify(structured) } : expected
  if (hides.steps === undefined) return [visible(wanted), visible(found)]
  const isEnd =
    found.text === undefined
      ? found.status !== 'completed'
      : squeeze(found.text).endsWith(squeeze(wanted.text))
  const ofEnd = isEnd ? { text: '' } : {}
  const { usage, ...rest } = wanted
  return [visible({ ...rest, ...(found.usage && { usage }), ...ofEnd }), visible({ ...found, ...ofEnd })]
}

function visibleCalls(calls: readonly ReportedCall[], hides: Wire['hides']): object[] {
  const isShown = (call: ReportedCall) =>
    (hides.failedCalls === undefined || hasResult(call)) &&
    (hides.unendedCalls === undefined || call.outcome !== undefined)
  const ended = calls.filter(isShown)
  const shown = ended.map(({ tool, args, outcome }) => ({
    tool,
    ...(hides.args === undefined && { args: visibleArgs(args, outcome, hides) }),
    ...(hides.outcomes === undefined && { outcome: visibleOutcome(outcome, hides) })
  }))
  return hides.order === undefined ? shown : shown.toSorted(byJson)
}

// An approval adds who has approved.
function visibleArgs(args: unknown, outcome: ReportedCall['outcome'], hides: Wire['hides']): unknown {
  const isHidden = outcome === undefined ? (hides.editedArgs ?? hides.unendedEdits) : hides.editedArgs
  if (isHidden === undefined) return args
  const { by: _, ...first } = args as { by?: number }
  return first
}

function visibleOutcome(outcome: ReportedCall['outcome'], hides: Wire['hides']): unknown {
  if (outcome === undefined) return undefined
  if (outcome === 'denied' || 'error' in outcome) return hides.errors === undefined ? outcome : 'failed'
  const { result } = outcome
  return hides.resultTypes === undefined || typeof result === 'string'
    ? outcome
    : { result: JSON.stringify(result) }
}

function hasResult({ outcome }: ReportedCall): boolean {
  return typeof outcome === 'object' && 'result' in outcome
}

function byJson(one: object, other: object): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1
}

// Steps are separated by line breaks.
function squeeze(text: string): string {
  return text.replaceAll('\n', '')
}
