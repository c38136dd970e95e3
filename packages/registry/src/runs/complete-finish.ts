import type { PartOf, Usage, YieldedPart } from '../contract/part.ts'
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
    // Its own copy: what the runnable does to its objects later is nothing to the result.
    usage: part.usage === undefined ? soFar.usage : copyOf(part.usage),
    durationMs: Math.round((performance.now() - startedAt) * 1000) / 1000,
    structured: part.structured ?? soFar.structured
  }
}

function copyOf({ promptTokens, completionTokens, totalTokens }: Usage): Usage {
  return { promptTokens, completionTokens, totalTokens }
}
