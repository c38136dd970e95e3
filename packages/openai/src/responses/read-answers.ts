import type { InputAnswer, RunEngine } from '@svc/registry'
import { codeOf, requireAnswer } from '@svc/registry/kit'
import type { GivenAnswer } from '@svc/registry/wire-kit'
import { parseOutput, type CallOutput, type Conversation } from '../wire/conversation.ts'
import type { Wait } from './read-wait.ts'

/** The answers of a request to what a run waits for. @throws RUN_ERR_STORE */
export async function toAnswers(
  runs: Pick<RunEngine, 'findInput'>,
  { outputs, approvals }: Pick<Conversation, 'outputs' | 'approvals'>,
  wait: Pick<Wait, 'asked' | 'approvals'>
): Promise<GivenAnswer[]> {
  const answers: GivenAnswer[] = []
  for (const output of outputs) {
    const inputId = wait.asked.get(output.callId)
    if (inputId !== undefined) answers.push({ inputId, answer: await toAnswer(runs, inputId, output) })
  }
  for (const { approvalId, approved, reason } of approvals)
    if (wait.approvals.has(approvalId))
      answers.push({ inputId: approvalId, answer: { approved, ...(reason !== undefined && { reason }) } })
  return answers
}

// An output is a text: JSON if its value fits what is asked, else the text itself, such as "5" for a question that wants a text.
async function toAnswer(
  runs: Pick<RunEngine, 'findInput'>,
  inputId: string,
  { output, isDeclined }: CallOutput
): Promise<InputAnswer> {
  if (isDeclined) return { action: 'decline' }
  const parsed: InputAnswer = { action: 'accept', content: parseOutput(output) }
  if (parsed.content === output) return parsed
  const found = await runs.findInput(inputId)
  if (found === undefined || (await fits(found.input, parsed))) return parsed
  const text: InputAnswer = { action: 'accept', content: output }
  return (await fits(found.input, text)) ? text : parsed
}

async function fits(input: Parameters<typeof requireAnswer>[0], answer: InputAnswer): Promise<boolean> {
  try {
    await requireAnswer(input, answer)
    return true
  } catch (err) {
    if (codeOf(err) === 'RUN_ERR_BAD_INPUT') return false
    throw err
  }
}
