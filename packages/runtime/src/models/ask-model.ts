import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { ModelAnswer } from './model-answer.ts'
import { toModelFault } from './model-fault.ts'

/** One question to a model outside of an agent's loop. */
export interface Question {
  readonly system: string
  readonly prompt: string
  readonly signal: AbortSignal
  readonly responseFormat?: LanguageModelV4CallOptions['responseFormat']
}

/** What a model answers, as a text. @throws RUN_ERR_MODEL_…, why the signal aborted */
export async function askModel(model: LanguageModelV4, question: Question): Promise<string> {
  try {
    return await ask(model, question)
  } catch (err) {
    question.signal.throwIfAborted()
    // A provider's own text may hold a key.
    throw toModelFault(err).error
  }
}

async function ask(
  model: LanguageModelV4,
  { system, prompt, signal, responseFormat }: Question
): Promise<string> {
  const { stream } = await model.doStream({
    prompt: [
      { role: 'system', content: system },
      { role: 'user', content: [{ type: 'text', text: prompt }] }
    ],
    abortSignal: signal,
    ...(responseFormat && { responseFormat })
  })
  const answer = new ModelAnswer(new Set())
  for await (const part of stream) answer.take(part)
  if (answer.ended?.unified !== 'stop') throw new Error('the model did not end its answer')
  return answer.text
}
