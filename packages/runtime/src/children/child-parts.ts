import { toPartError, toStoredError, type Journal, type YieldedPart } from '@svc/contract'

/** Adds the name of a member or step to the `source` of its part. */
export function withSource(name: string, part: YieldedPart): YieldedPart {
  return { ...part, source: [name, ...(part?.source ?? [])] }
}

/** The `error` part of a failed member or step, safe for clients. */
export function failureOf(name: string, err: unknown): YieldedPart {
  return withSource(name, { type: 'error', error: toPartError(toStoredError(err)) })
}

/** A complete answer. */
export interface Answer {
  readonly text: string
  readonly structured: unknown
}

/** The parts of an answer, with the answer as their record; those that an earlier process has written are not written again. */
export async function* recordedAnswer(
  journal: Journal | undefined,
  answer: Answer
): AsyncGenerator<YieldedPart, void> {
  for (const part of answerParts(answer)) {
    const key = answerKey(part)
    if (journal === undefined) yield part
    else if ((await journal.recall(key)) !== undefined) yield journal.replay(part)
    else yield journal.record(part, key, answer).part
  }
}

/** The answer that an earlier process has begun to write. */
export async function recallAnswer(journal: Journal | undefined): Promise<Answer | undefined> {
  for (const type of ['text', 'structured'] as const) {
    const found = await journal?.recall(answerKey({ type }))
    if (found !== undefined) return found.output as Answer
  }
  return undefined
}

function answerKey({ type }: Pick<YieldedPart, 'type'>): string {
  return `#answer ${type}`
}

/** The parts of an answer that is complete already. */
function* answerParts({ text, structured }: Answer): Generator<YieldedPart, void> {
  if (text !== '') yield { type: 'text', text }
  if (structured !== null) yield { type: 'structured', value: structured }
}
