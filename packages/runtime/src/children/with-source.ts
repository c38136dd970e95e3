import type { YieldedPart } from '@svc/registry'

/** A part of a member or step, with its name. */
export function withSource(name: string, part: YieldedPart): YieldedPart {
  return { ...part, source: [name, ...(part?.source ?? [])] }
}
