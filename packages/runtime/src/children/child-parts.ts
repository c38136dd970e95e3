import { toPartError, toStoredError, type YieldedPart } from '@svc/registry'

/** A part of a member or step, with its name. */
export function withSource(name: string, part: YieldedPart): YieldedPart {
  return { ...part, source: [name, ...(part?.source ?? [])] }
}

/** That a member or step failed, as everyone may know it. */
export function failureOf(name: string, err: unknown): YieldedPart {
  return withSource(name, { type: 'error', error: toPartError(toStoredError(err)) })
}

/** The answer of a run that is there as a whole. */
export function* answerParts({
  text,
  structured
}: {
  text: string
  structured: unknown
}): Generator<YieldedPart, void> {
  if (text !== '') yield { type: 'text', text }
  if (structured !== null) yield { type: 'structured', value: structured }
}
