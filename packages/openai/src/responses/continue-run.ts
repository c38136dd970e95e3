import { answerInputs } from '@svc/registry/wire-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNANSWERED } from '../errors.ts'
import type { Surface } from '../surface.ts'
import type { Conversation } from '../wire/conversation.ts'
import { toAnswers } from './read-answers.ts'
import type { Wait } from './read-wait.ts'
import type { ResponsePlace } from './response-id.ts'

/**
 * Continues a run that waits with what the input answers. What was answered before, here or on another surface, stays as it is: a request
 * that is sent again gets the response that followed.
 * @throws OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNANSWERED, RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_BAD_INPUT, RUN_ERR_STORE
 */
export async function continueRun(
  surface: Surface,
  wait: Wait,
  given: Conversation,
  { caller }: FastifyRequest,
  reply: FastifyReply
): Promise<ResponsePlace> {
  const { runs, replies } = surface
  if (given.input !== undefined)
    throw new OPENAI_ERR_BAD_REQUEST(
      'input: the run waits for outputs, and takes no message before it has them'
    )
  const answers = await toAnswers(runs, given, wait)
  const answered = new Set(answers.map(({ inputId }) => inputId))
  const asked = [
    ...Array.from(wait.asked, ([callId, inputId]) => [inputId, `the call "${callId}"`] as const),
    ...Array.from(wait.approvals, (approvalId) => [approvalId, `the approval "${approvalId}"`] as const)
  ]
  for (const [inputId, what] of asked) {
    if (answered.has(inputId)) continue
    const found = await runs.findInput(inputId)
    if (found?.input.answer === null) throw new OPENAI_ERR_UNANSWERED(what)
  }
  await answerInputs(surface, caller, answers)
  replies.add(reply.raw)
  return { runId: wait.runId, after: wait.seq }
}
