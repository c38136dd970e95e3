import { copyUsage, type PartOf, type RunResultBuilder, type YieldedPart } from '@svc/contract'

/** Completes a `finish`: omitted fields follow from the earlier parts and the clock. */
export function completeFinish(
  part: Extract<YieldedPart, { type: 'finish' }>,
  soFar: Pick<RunResultBuilder, 'usage' | 'structured'>,
  startedAt: number
): PartOf<'finish'> {
  return {
    type: 'finish',
    finishReason: part.finishReason,
    // A copy, so that the runnable cannot change the result later.
    usage: part.usage === undefined ? soFar.usage : copyUsage(part.usage),
    durationMs: Math.round((performance.now() - startedAt) * 1000) / 1000,
    structured: part.structured ?? soFar.structured
  }
}
