import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { isBlank } from '@svc/contract'
import { appendMessage, toVendorPrompt } from '../models/prompt-content.ts'
import { situationOf, toSituationMessage } from './situation.ts'

/** What a step changes of its prompt. */
interface PromptChanges {
  readonly instructions?: string
  readonly messages?: readonly LanguageModelV4Message[]
}

/** The prompt of a step, for the vendor of its model: that of its turn with the changes, and the messages that no session keeps. */
export function toStepPrompt(
  prompt: LanguageModelV4Prompt,
  provider: string,
  sections: readonly string[],
  tail: readonly LanguageModelV4Message[],
  { instructions, messages }: PromptChanges = {}
): LanguageModelV4Prompt {
  if (instructions === undefined && messages === undefined && tail.length === 0)
    return toVendorPrompt(prompt, provider)
  const [system, rest] = splitSystem(prompt)
  const own =
    instructions === undefined
      ? system
      : [{ role: 'system' as const, content: joinSections(instructions, sections) }]
  const shown = messages === undefined ? rest : withSituation(messages, situationOf(prompt))
  const step: LanguageModelV4Message[] = []
  for (const message of [...own, ...shown, ...tail]) appendMessage(step, message)
  return toVendorPrompt(step, provider)
}

// Messages that replace those of the prompt need not have it.
function withSituation(
  messages: readonly LanguageModelV4Message[],
  text: string | undefined
): readonly LanguageModelV4Message[] {
  if (text === undefined || messages.some((message) => hasText(message, text))) return messages
  const at = messages.findLastIndex(({ role }) => role === 'user')
  if (at < 0) return messages
  return [...messages.slice(0, at + 1), toSituationMessage(text), ...messages.slice(at + 1)]
}

function hasText(message: LanguageModelV4Message, text: string): boolean {
  return message.role === 'user' && message.content.some((part) => part.type === 'text' && part.text === text)
}

/** Splits a prompt into its instructions, if any, and its other messages. */
export function splitSystem(
  prompt: LanguageModelV4Prompt
): [system: LanguageModelV4Message[], rest: LanguageModelV4Message[]] {
  const count = prompt[0]?.role === 'system' ? 1 : 0
  return [prompt.slice(0, count), prompt.slice(count)]
}

/** The system prompt of its instructions and the sections after them; empty without any. */
export function joinSections(instructions: string | undefined, sections: readonly string[]): string {
  let joined = instructions === undefined || isBlank(instructions) ? '' : instructions
  for (const section of sections)
    if (!isBlank(section)) joined = joined === '' ? section : `${joined}\n\n${section}`
  return joined
}
