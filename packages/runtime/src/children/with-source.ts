import { toPartError, toStoredError, type YieldedPart } from '@svc/registry'

/** A part of a member or step, with its name. */
export function withSource(name: string, part: YieldedPart): YieldedPart {
  return { ...part, source: [name, ...(part?.source ?? [])] }
}

/** That a member or step failed, as everyone may know it. */
export function failureOf(name: string, err: unknown): YieldedPart {
  return withSource(name, { type: 'error', error: toPartError(toStoredError(err)) })
}
