import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider'
import { appendMessage } from './append-message.ts'
import { ModelAnswer } from './model-answer.ts'
import { toModelFault } from './model-fault.ts'

/** A question to a model outside an agent's loop. */
export interface Question {
  readonly system: string
  readonly prompt: string
  readonly signal: AbortSignal
  readonly responseFormat?: LanguageModelV4CallOptions['responseFormat']
}

/** The text of a model's answer. @throws RUN_ERR_MODEL_…, the signal's reason */
export async function askModel(model: LanguageModelV4, question: Question): Promise<string> {
  try {
    return await ask(model, question)
  } catch (err) {
    question.signal.throwIfAborted()
    // The provider's message may contain a key.
    throw toModelFault(err).error
  }
}

async function ask(
  model: LanguageModelV4,
  { system, prompt, signal, responseFormat }: Question
): Promise<string> {
  const messages: LanguageModelV4Message[] = []
  appendMessage(messages, { role: 'system', content: system })
  appendMessage(messages, { role: 'user', content: [{ type: 'text', text: prompt }] })
  const { stream } = await model.doStream({
    prompt: messages,
    abortSignal: signal,
    ...(responseFormat && { responseFormat })
  })
  const answer = new ModelAnswer()
  for await (const part of stream) answer.take(part)
  if (answer.ended?.unified !== 'stop') throw new Error('the model did not end its answer')
  return answer.text
}
