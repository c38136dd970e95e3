import type { AnswerSeal } from './answer-seal.ts'
import {
  withoutSecret,
  type InputOutcome,
  type RunStore,
  type StoredInput,
  type StoredRun
} from '@svc/contract'

/**
 * The answer to an input of a run that this process has. What is sealed is replaced in the store by what it says; null if it was sealed for
 * a process that is gone: the input then waits again.
 * @param runs redacts the caller's keys, if this process has them
 */
export async function openAnswer(
  { seal, runs }: { readonly seal: AnswerSeal; readonly runs: RunStore },
  inputId: string,
  answer: InputOutcome
): Promise<InputOutcome | null> {
  if (answer.sealed === undefined) return answer
  const opened = (await seal.open(inputId, answer)) ?? null
  const sealKey = opened === null && answer.secret ? seal.publicKey : undefined
  await runs.replaceAnswer(inputId, answer, opened && withoutSecret(opened), sealKey)
  return opened
}

/** The inputs of a run with their answers opened; from now on pending credentials are encrypted for this process. */
export async function openAnswers(
  host: Parameters<typeof openAnswer>[0],
  { inputs }: Pick<StoredRun, 'inputs'>
): Promise<StoredRun['inputs']> {
  if (inputs.every(({ answer, kind }) => kind !== 'auth' && answer?.sealed === undefined)) return inputs
  return Promise.all(
    inputs.map(async (input) => {
      await renewSealKey(host, input)
      return { ...input, answer: input.answer && (await openAnswer(host, input.inputId, input.answer)) }
    })
  )
}

async function renewSealKey(
  { seal, runs }: Parameters<typeof openAnswer>[0],
  { inputId, kind, answer, sealKey }: StoredInput
): Promise<void> {
  if (kind !== 'auth' || answer !== null || sealKey === undefined || sealKey === seal.publicKey) return
  await runs.replaceAnswer(inputId, null, null, seal.publicKey)
}
