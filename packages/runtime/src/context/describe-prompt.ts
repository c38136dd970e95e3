import { createHash } from 'node:crypto'
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { tokensOfMessage, tokensOfTools } from './estimate-tokens.ts'
import { hasSystem, placesIn } from './prompt-places.ts'

/** A section of a prompt without its text: equal sections have equal hashes. */
export interface PromptSection {
  readonly hash: string
  /** Estimated. */
  readonly tokens: number
}

/** The sections of a prompt in their order. */
export interface PromptSections {
  readonly tools: PromptSection
  readonly system: PromptSection
  readonly history: PromptSection
  /** From the message of the user that the run answers. */
  readonly tail: PromptSection
}

const HASH_LENGTH = 16

/**
 * Describes the prompt of a call by the sections that a cache keeps.
 * @param first as in `placesIn`; undefined if the messages are not those of the turn: all of them are the tail then
 */
export function describePrompt(
  { prompt, tools }: Pick<LanguageModelV4CallOptions, 'prompt' | 'tools'>,
  first: LanguageModelV4Prompt | undefined
): PromptSections {
  const begin = Number(hasSystem(prompt))
  const asked = first === undefined ? begin : Math.max(placesIn(prompt, first).asked, begin)
  return {
    tools: { hash: hashOf(tools ?? []), tokens: tokensOfTools(tools) },
    system: describe(prompt.slice(0, begin)),
    history: describe(prompt.slice(begin, asked)),
    tail: describe(prompt.slice(asked))
  }
}

function describe(messages: LanguageModelV4Prompt): PromptSection {
  return {
    hash: hashOf(messages),
    tokens: messages.reduce((sum, message) => sum + tokensOfMessage(message), 0)
  }
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, HASH_LENGTH)
}
