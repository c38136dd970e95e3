import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { textOf } from './conversation.ts'

/** Finds the messages that others added to the session of a call since its last turn, such as a chat in writing. */
export class OtherMessages {
  readonly #loaded: number
  #question: string | undefined

  /** @param loaded the number of messages that the session had when the call began */
  constructor(loaded: number) {
    this.#loaded = loaded
  }

  /**
   * The messages of others in the prompt of a turn, which ends with its question.
   * @param words the question, as it will be saved
   */
  find(prompt: LanguageModelV4Prompt, words: Promise<string | undefined>): readonly LanguageModelV4Message[] {
    const found = this.#find(prompt.filter(({ role }) => role !== 'system'))
    void words.then((question) => (this.#question = question ?? this.#question))
    return found
  }

  #find(messages: readonly LanguageModelV4Message[]): readonly LanguageModelV4Message[] {
    const earlier = messages.slice(0, messages.findLastIndex(isUser))
    if (this.#question === undefined) return earlier.slice(this.#loaded)
    const last = earlier.findLastIndex((message) => isUser(message) && textOf(message) === this.#question)
    const next = earlier.findIndex((message, index) => index > last && isUser(message))
    return last < 0 || next < 0 ? [] : earlier.slice(next)
  }
}

const isUser = ({ role }: LanguageModelV4Message) => role === 'user'
