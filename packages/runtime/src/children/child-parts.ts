import type { YieldedPart } from '@svc/registry'
import { toPartError, toStoredError } from '@svc/registry/kit'

/** Adds the name of a member or step to the `source` of its part. */
export function withSource(name: string, part: YieldedPart): YieldedPart {
  return { ...part, source: [name, ...(part?.source ?? [])] }
}

/** The `error` part of a failed member or step, safe for clients. */
export function failureOf(name: string, err: unknown): YieldedPart {
  return withSource(name, { type: 'error', error: toPartError(toStoredError(err)) })
}

/** The parts of an answer that is complete already. */
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
