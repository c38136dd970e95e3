import { codeOf, type InputAnswer } from '@svc/contract'
import type { RunEngine } from '@svc/registry'
import { requireAnswer } from '@svc/registry/engine'

/** A text that is JSON, as its value; any other, such as arguments that a model has broken off, as it is. */
export function valueOfText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/**
 * The answer of a client that gives texts only: JSON if its value fits what is asked, else the text itself, such as "5" for a question
 * that wants a text.
 * @throws RUN_ERR_STORE
 */
export async function answerOfText(
  runs: Pick<RunEngine, 'findInput'>,
  inputId: string,
  given: string
): Promise<InputAnswer> {
  const parsed: InputAnswer = { action: 'accept', content: valueOfText(given) }
  if (parsed.content === given) return parsed
  const found = await runs.findInput(inputId)
  if (found === undefined || (await fits(found.input, parsed))) return parsed
  const text: InputAnswer = { action: 'accept', content: given }
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
