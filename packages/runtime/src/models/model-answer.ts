import { randomUUID } from 'node:crypto'
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4Message,
  LanguageModelV4ReasoningPart,
  LanguageModelV4StreamPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResult,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata
} from '@ai-sdk/provider'
import { ZERO_USAGE, type FinishReason, type ToolError, type Usage, type YieldedPart } from '@svc/registry'
import { RUN_ERR_TOOL_FAILED, toToolError } from '../errors.ts'
import { parseArgs } from '../json/parse-json.ts'

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
const MAX_ERROR = 1_000

type Block = LanguageModelV4TextPart | LanguageModelV4ReasoningPart

/** A tool call of a model. */
export interface ModelToolCall {
  readonly toolCallId: string
  readonly toolName: string
  /** The raw text if it is not JSON. */
  readonly args: unknown
  /** Why the arguments are not JSON. */
  readonly fault?: string
  /** The call in the next prompt, where arguments are always an object. */
  readonly promptPart: LanguageModelV4ToolCallPart
}

/** The calls that providers execute, by their ids; a result may arrive in a later step than its call. */
export type ProviderCalls = Map<string, ProviderOutcome['call'] & { readonly startedAt: number }>

/** A tool call the provider executed, with its outcome. */
export interface ProviderOutcome {
  readonly call: { readonly toolCallId: string; readonly toolName: string; readonly args: unknown }
  readonly result?: unknown
  readonly error?: ToolError
}

/** The answer of one model call, assembled from the parts of its stream. */
export class ModelAnswer {
  /** True once a token has arrived; a failure is not retried then. */
  begun = false
  /** Set by the stream's `finish`. */
  ended: LanguageModelV4FinishReason | undefined
  usage: Usage = ZERO_USAGE
  readonly toolCalls: ModelToolCall[] = []
  /** Finished calls of tools the provider executes. */
  readonly providerOutcomes: ProviderOutcome[] = []
  readonly #providerCalls: ProviderCalls
  readonly #content: AssistantContent = []
  readonly #open = new Map<string, Block>()
  readonly #callIds: Set<string>

  /** `callIds` are the ids of the run's tool calls so far; models may repeat or omit ids. */
  constructor(callIds: Set<string>, providerCalls: ProviderCalls = new Map()) {
    this.#callIds = callIds
    this.#providerCalls = providerCalls
  }

  /** Takes the next part of the stream; returns the part of the run for it, if any. @throws the error of an `error` part */
  take(part: LanguageModelV4StreamPart): YieldedPart | undefined {
    switch (part.type) {
      case 'text-delta':
      case 'reasoning-delta':
        return this.#extend(part)
      case 'text-start':
      case 'reasoning-start':
        this.#begin(part.type === 'text-start' ? 'text' : 'reasoning', part.id, part.providerMetadata)
        return undefined
      case 'text-end':
      case 'reasoning-end':
        setMetadata(this.#open.get(part.id), part.providerMetadata)
        this.#open.delete(part.id)
        return undefined
      case 'tool-input-start':
      case 'tool-input-delta':
        this.begun = true
        return undefined
      case 'tool-call':
        return part.providerExecuted ? this.#callByProvider(part) : this.#call(part)
      case 'tool-result':
        return this.#resultOfProvider(part)
      case 'finish':
        this.ended = part.finishReason
        this.usage = toUsage(part.usage)
        return undefined
      case 'error':
        throw part.error
      default:
        return undefined
    }
  }

  /** The text without the reasoning. */
  get text(): string {
    let text = ''
    for (const part of this.#content) if (part.type === 'text') text += part.text
    return text
  }

  get finishReason(): FinishReason {
    const reason = this.ended?.unified
    return reason === 'stop' || reason === 'length' || reason === 'content-filter' ? reason : 'other'
  }

  /** The answer as a message for the next model call; undefined when it is empty. */
  toMessage(): LanguageModelV4Message | undefined {
    const content = this.#content.filter((part) => !isEmpty(part))
    return content.length === 0 ? undefined : { role: 'assistant', content }
  }

  #begin(type: Block['type'], id: string, metadata: SharedV4ProviderMetadata | undefined): Block {
    const block: Block = { type, text: '' }
    setMetadata(block, metadata)
    this.#open.set(id, block)
    this.#content.push(block)
    return block
  }

  #extend(part: Extract<LanguageModelV4StreamPart, { type: 'text-delta' | 'reasoning-delta' }>) {
    const type = part.type === 'text-delta' ? 'text' : 'reasoning'
    let block = this.#open.get(part.id)
    if (block === undefined || block.type !== type) block = this.#begin(type, part.id, undefined)
    if (part.providerMetadata !== undefined) setMetadata(block, part.providerMetadata)
    const text = part.delta
    if (text === '') return undefined
    this.begun = true
    block.text += text
    return { type, text } as const
  }

  /** True for a call of a tool the provider executes. */
  isProviderCall(toolCallId: string): boolean {
    return this.#providerCalls.has(toolCallId)
  }

  // Its id is the provider's own, which pairs it with its result in later prompts.
  #callByProvider({ toolCallId, toolName, input, providerMetadata }: LanguageModelV4ToolCall) {
    this.begun = true
    const { args } = parseArgs(input)
    this.#callIds.add(toolCallId)
    this.#providerCalls.set(toolCallId, { toolCallId, toolName, args, startedAt: performance.now() })
    this.#content.push({
      type: 'tool-call',
      toolCallId,
      toolName,
      input: toObject(args),
      providerExecuted: true,
      ...(providerMetadata && { providerOptions: providerMetadata })
    })
    return { type: 'tool.call', toolCallId, toolName, args } as const
  }

  #resultOfProvider(part: LanguageModelV4ToolResult): YieldedPart | undefined {
    const { toolCallId, toolName, result, isError = false, preliminary, providerMetadata } = part
    this.begun = true
    if (preliminary) return undefined
    const { startedAt = performance.now(), ...call } = this.#providerCalls.get(toolCallId) ?? {
      toolCallId,
      toolName,
      args: {}
    }
    this.#content.push({
      type: 'tool-result',
      toolCallId,
      toolName,
      output: { type: isError ? 'error-json' : 'json', value: result },
      ...(providerMetadata && { providerOptions: providerMetadata })
    })
    if (isError) {
      const error = toToolError(new RUN_ERR_TOOL_FAILED(JSON.stringify(result).slice(0, MAX_ERROR)))
      this.providerOutcomes.push({ call, error })
      return { type: 'tool.error', toolCallId, toolName, error }
    }
    this.providerOutcomes.push({ call, result })
    const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000
    return { type: 'tool.result', toolCallId, toolName, result, durationMs }
  }

  #call({ toolCallId: givenId, toolName, input, providerMetadata }: LanguageModelV4ToolCall) {
    this.begun = true
    const toolCallId = givenId && !this.#callIds.has(givenId) ? givenId : `call_${randomUUID()}`
    this.#callIds.add(toolCallId)
    const { args, fault } = parseArgs(input)
    const promptPart: LanguageModelV4ToolCallPart = {
      type: 'tool-call',
      toolCallId,
      toolName: toSafeName(toolName),
      input: toObject(args)
    }
    if (providerMetadata) promptPart.providerOptions = providerMetadata
    this.#content.push(promptPart)
    this.toolCalls.push({ toolCallId, toolName, args, promptPart, ...(fault !== undefined && { fault }) })
    return { type: 'tool.call', toolCallId, toolName, args } as const
  }
}

/** Arguments for a prompt, where providers require an object. */
export function toObject(args: unknown): object {
  return typeof args === 'object' && args !== null && !Array.isArray(args) ? args : {}
}

// Providers refuse a prompt with other characters in a tool name, even one the model invented.
function toSafeName(toolName: string): string {
  return /^[\w-]{1,64}$/.test(toolName) ? toolName : toolName.replace(/[^\w-]/g, '_').slice(0, 64) || '_'
}

function setMetadata(block: Block | undefined, metadata: SharedV4ProviderMetadata | undefined): void {
  if (block !== undefined && metadata !== undefined) block.providerOptions = metadata
}

// Providers refuse empty texts; a reasoning without text may still hold a signature.
function isEmpty(part: AssistantContent[number]): boolean {
  if (part.type === 'text') return part.text === ''
  return part.type === 'reasoning' && part.text === '' && part.providerOptions === undefined
}

function toUsage({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage {
  const promptTokens = inputTokens.total || 0
  const completionTokens = outputTokens.total || 0
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens }
}
