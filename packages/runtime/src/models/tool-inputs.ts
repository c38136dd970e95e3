import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { PartOf } from '@svc/contract'

type InputPart = Extract<
  LanguageModelV4StreamPart,
  { type: 'tool-input-start' | 'tool-input-delta' | 'tool-input-end' }
>
type Delta = PartOf<'tool.call.delta'>

interface OpenInput {
  readonly toolCallId: string
  readonly toolName: string
  /** True if its increments are those of a plain text, not of JSON. */
  readonly isText: boolean
}

/** The arguments of an answer's tool calls while the model writes them. */
export class ToolInputs {
  readonly #assignId: (givenId: string) => string
  readonly #open = new Map<string, OpenInput>()

  /** @param assignId returns an id that no call of the run has */
  constructor(assignId: (givenId: string) => string) {
    this.#assignId = assignId
  }

  /** The next increment of a call's arguments, if the part has one. */
  take(part: InputPart): Delta | undefined {
    if (part.type === 'tool-input-start') {
      const { id, toolName, providerExecuted, inputEncoding } = part
      const toolCallId = providerExecuted ? id : this.#assignId(id)
      const isText = inputEncoding === 'text'
      this.#open.set(id, { toolCallId, toolName, isText })
      return isText ? this.#delta(id, '"') : undefined
    }
    const isText = this.#open.get(part.id)?.isText
    if (part.type === 'tool-input-end') return isText ? this.#delta(part.id, '"') : undefined
    return this.#delta(part.id, isText ? JSON.stringify(part.delta).slice(1, -1) : part.delta)
  }

  /** The id that the increments of a call have; forgets them. */
  takeId(id: string): string | undefined {
    const toolCallId = this.#open.get(id)?.toolCallId
    this.#open.delete(id)
    return toolCallId
  }

  #delta(id: string, delta: string): Delta | undefined {
    const input = this.#open.get(id)
    if (input === undefined || delta === '') return undefined
    return { type: 'tool.call.delta', toolCallId: input.toolCallId, toolName: input.toolName, delta }
  }
}
