import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'

/** Places in a prompt, as indexes of messages; under 0 where there is none. */
export interface PromptPlaces {
  /** The newest message of the user in the history, with which its last turn begins. */
  readonly lastTurn: number
  /** The message of the user that the run answers: the history ends before it. */
  readonly asked: number
}

/**
 * The places in the prompt of a step.
 * @param first the prompt as the turn began: its last message of the user is the one to be answered. Its messages begin that of the step
 */
export function placesIn(prompt: LanguageModelV4Prompt, first: LanguageModelV4Prompt): PromptPlaces {
  const shift = Number(hasSystem(prompt)) - Number(hasSystem(first))
  const asked = first.findLastIndex(isUser)
  const lastTurn = first.slice(0, Math.max(asked, 0)).findLastIndex(isUser)
  return { lastTurn: lastTurn + shift, asked: asked + shift }
}

/** True if a prompt begins with instructions. */
export function hasSystem(prompt: LanguageModelV4Prompt): boolean {
  return prompt[0]?.role === 'system'
}

function isUser({ role }: LanguageModelV4Message): boolean {
  return role === 'user'
}
