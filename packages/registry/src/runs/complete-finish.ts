import type { PartOf, YieldedPart } from '../contract/part.ts'
import type { RunResultBuilder } from '../contract/run-result.ts'

/** A `finish` with all its fields: what the runnable left out follows from the parts before and from the clock. */
export function completeFinish(
  part: Extract<YieldedPart, { type: 'finish' }>,
  soFar: Pick<RunResultBuilder, 'usage' | 'structured'>,
  startedAt: number
): PartOf<'finish'> {
  return {
    type: 'finish',
    finishReason: part.finishReason,
    usage: part.usage ?? soFar.usage,
    durationMs: Math.round((performance.now() - startedAt) * 1000) / 1000,
    structured: part.structured ?? soFar.structured
  }
}
