import { codeOf, RUN_ERR_INPUT_NOT_FOUND, type Principal, type RunLog } from '@svc/contract'
import { answerInputs } from '@svc/surface'
import type { Message } from '../protocol/message.ts'
import type { Surface } from '../surface.ts'
import { toAnswer } from './elicitation.ts'
import { inputOf } from './request-inputs.ts'

/**
 * Takes the response to an elicitation that went out on the stream of a call, maybe by another node.
 * @throws RUN_ERR_INPUT_NOT_FOUND, MCP_ERR_FORBIDDEN
 */
export async function takeAnswer(
  surface: Surface,
  { caller, log }: { readonly caller: Principal; readonly log: RunLog },
  response: Message
): Promise<void> {
  const answered = inputOf(response)
  if (answered === undefined) return
  const { inputId, result } = answered
  const found = await surface.runs.findInput(inputId)
  if (found === undefined) throw new RUN_ERR_INPUT_NOT_FOUND(inputId)
  const answer = toAnswer({ kind: found.input.kind, schema: found.input.schema }, result)
  if (answer === undefined) return
  try {
    await answerInputs(surface, caller, [{ inputId, answer }])
  } catch (err) {
    // The form is asked for once only: what does not fit counts as dismissed, so that the call does not hang.
    if (codeOf(err) !== 'RUN_ERR_BAD_INPUT') throw err
    log.info({ inputId }, 'the answer of an elicitation does not fit')
    await answerInputs(surface, caller, [{ inputId, answer: { action: 'cancel' } }])
  }
}
