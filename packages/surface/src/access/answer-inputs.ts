import {
  codeOf,
  RUN_ERR_INPUT_NOT_FOUND,
  type ApprovalAnswer,
  type InputAnswer,
  type Principal
} from '@svc/contract'
import { requireAnswer } from '@svc/registry/engine'
import type { RunEngine } from '@svc/registry'
import { mayAnswer } from './require-answerable.ts'
import type { RunAccess } from './require-run.ts'

/** An answer of a request, and the input that it is for. */
export interface GivenAnswer {
  readonly inputId: string
  readonly answer: ApprovalAnswer | InputAnswer
}

/** The parts of a surface that answer inputs. */
export interface AnsweringAccess extends Pick<RunAccess, 'exposed' | 'policy'> {
  readonly runs: Pick<RunEngine, 'findInput' | 'answer'>
}

/** An input that was answered before: the first answer counts. */
const ANSWERED = new Set(['RUN_ERR_APPROVAL_ANSWERED', 'RUN_ERR_INPUT_ANSWERED'])

/**
 * Answers inputs that one request names, all or none: each must be one that the caller may answer, with an answer that fits. Returns
 * the ids of those that this call answered; an input that was answered before, or has expired meanwhile, is left out.
 * @throws RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_BAD_INPUT, RUN_ERR_STORE
 */
export async function answerInputs(
  access: AnsweringAccess,
  principal: Principal,
  given: readonly GivenAnswer[]
): Promise<string[]> {
  const open: GivenAnswer[] = []
  for (const each of given) {
    const found = await access.runs.findInput(each.inputId)
    if (found === undefined || !(await mayAnswer(access, found.run, found.input.kind, principal)))
      throw new RUN_ERR_INPUT_NOT_FOUND(each.inputId)
    if (found.input.answer !== null) continue
    await requireAnswer(found.input, each.answer)
    open.push(each)
  }
  const answered: string[] = []
  for (const { inputId, answer } of open) {
    try {
      await access.runs.answer(inputId, answer)
      answered.push(inputId)
    } catch (err) {
      if (!ANSWERED.has(codeOf(err) ?? '')) throw err
    }
  }
  return answered
}
