import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { ModelAnswer } from './model-answer.ts'

/** One question to a model outside of an agent's loop. */
export interface Question {
  readonly system: string
  readonly prompt: string
  readonly signal: AbortSignal
  readonly responseFormat?: LanguageModelV4CallOptions['responseFormat']
}

/** What a model answers, as a text. @throws what the model throws, or when it does not end its answer */
export async function askModel(model: LanguageModelV4, question: Question): Promise<string> {
  const { system, prompt, signal, responseFormat } = question
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
