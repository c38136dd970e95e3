import { createHash, randomUUID } from 'node:crypto'
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4Message,
  LanguageModelV4ReasoningPart,
  LanguageModelV4StreamPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolApprovalRequest,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResult,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
  SharedV4Warning
} from '@ai-sdk/provider'
import type { ContentReference, PartOf, StepFinishReason, ToolError, Usage, YieldedPart } from '@svc/contract'
import { RUN_ERR_TOOL_FAILED } from '../errors.ts'
import { toToolError } from '../tool-calls/tool-outcome.ts'
import { parseArgs } from '../json/json.ts'
import { toToolName } from '../tools/tool-set.ts'
import { MadeParts } from './made-parts.ts'
import { toObject, toPromptFile, withOptions, type AnswerContent } from './prompt-content.ts'

/** The first characters of images in base64, by media type. */
const SIGNATURES: readonly (readonly [prefix: string, mimeType: string])[] = [
  ['iVBORw0KGg', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['UklGR', 'image/webp'],
  ['R0lGOD', 'image/gif']
]
// Shorter texts may begin like an image by accident, and are no burden.
const MIN_LENGTH = 64

/** The calls that providers execute, by their ids; a result may arrive in a later step than its call. */
export type ProviderCalls = Map<string, ProviderOutcome['call'] & { readonly startedAt: number }>

/** A tool call the provider executed, with its outcome. */
export interface ProviderOutcome {
  readonly call: { readonly toolCallId: string; readonly toolName: string; readonly args: unknown }
  readonly result?: unknown
  readonly error?: ToolError
}

/** An image in the result of a tool that the provider executes. */
export interface ResultImage {
  readonly mimeType: string
  /** Base64. */
  readonly data: string
}

/**
 * Separates a generated image from a result: `{ result: '<base64>' }`, as OpenAI's image generation has it, becomes
 * `{ result: { type: 'image', mimeType, sha256, size } }`. Other results stay as they are.
 */
function separateImage(result: unknown): { shown: unknown; image?: ResultImage } {
  if (typeof result !== 'object' || result === null || !('result' in result)) return { shown: result }
  const { result: data } = result
  if (typeof data !== 'string' || data.length < MIN_LENGTH) return { shown: result }
  const mimeType = SIGNATURES.find(([prefix]) => data.startsWith(prefix))?.[1]
  if (mimeType === undefined || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return { shown: result }
  const bytes = Buffer.from(data, 'base64')
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const reference: ContentReference = { type: 'image', mimeType, sha256, size: bytes.length }
  return { shown: { ...result, result: reference }, image: { mimeType, data } }
}

type Optional = 'cachedPromptTokens' | 'cacheWriteTokens' | 'reasoningTokens'

/** What a model reports as its usage: not every provider package keeps to the specification. */
type Reported = { readonly [Name in keyof LanguageModelV4Usage]?: Partial<LanguageModelV4Usage[Name]> | null }

/** The usage of a model call, without the counts that the provider did not report; undefined if it reported none. */
function toUsage(reported: Reported | null | undefined): Usage | undefined {
  const { inputTokens, outputTokens, raw } = reported ?? {}
  if (!isCount(inputTokens?.total) && !isCount(outputTokens?.total)) return undefined
  const promptTokens = isCount(inputTokens?.total) ? inputTokens.total : 0
  const completionTokens = isCount(outputTokens?.total) ? outputTokens.total : 0
  const usage: Usage = { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens }
  const add = (name: Optional, count: number | undefined, word: RegExp) => {
    // Some provider packages replace a missing count by 0.
    if (isCount(count) && (count > 0 || !raw || mentions(raw, word))) usage[name] = count
  }
  add('cachedPromptTokens', inputTokens?.cacheRead, /cached|cache_?(?:read|hit)/i)
  add('cacheWriteTokens', inputTokens?.cacheWrite, /cache_?(?:creation|write)/i)
  add('reasoningTokens', outputTokens?.reasoning, /reason|think|thought/i)
  return usage
}

function isCount(value: unknown): value is number {
  return Number.isFinite(value) && (value as number) >= 0
}

function mentions(raw: object, word: RegExp): boolean {
  return Object.entries(raw).some(
    ([name, value]: [string, unknown]) =>
      value !== null &&
      value !== undefined &&
      (word.test(name) || (typeof value === 'object' && mentions(value, word)))
  )
}

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
class ToolInputs {
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

const MAX_ERROR = 1_000
const NO_APPROVALS = 'Approvals that a provider asks for its own tools are not supported: turn them off'

type Block = LanguageModelV4TextPart | LanguageModelV4ReasoningPart

/** A block whose text is still arriving. Its increments are joined once: a string that grows keeps all of them in memory. */
interface OpenBlock {
  readonly id: string
  readonly block: Block
  readonly texts: string[]
}

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

/** What the answers of a run share. */
export interface AnswerScope {
  /** Ids of the tool calls so far; models may repeat or omit ids. */
  readonly callIds: Set<string>
  readonly providerCalls: ProviderCalls
  /** If true, the increments of tool calls' arguments are parts; default false. */
  readonly toolCallDeltas?: boolean
}

/** The answer of one model call, assembled from the parts of its stream. */
export class ModelAnswer {
  /** True once the model has said something; a failure is not retried then. */
  begun = false
  /** Set by the stream's `finish`. */
  ended: LanguageModelV4FinishReason | undefined
  /** Undefined where the provider did not report it. */
  usage: Usage | undefined
  /** The model that answered, if the provider reported it. */
  modelId: string | undefined
  /** What the provider did not support of the call. */
  warnings: readonly SharedV4Warning[] = []
  readonly content: AnswerContent = []
  /** Files and citations, if there are any; in the log they come before the part that `take` returned last. */
  made: MadeParts | undefined
  /** The parts of its own files, once they are kept; those of provider's tools are in their results. */
  readonly files: PartOf<'file'>[] = []
  readonly toolCalls: ModelToolCall[] = []
  /** Calls of tools the provider executes, finished or not. */
  readonly providerCalls: ProviderOutcome['call'][] = []
  /** Finished calls of tools the provider executes; a call may be of an earlier answer. */
  readonly providerOutcomes: ProviderOutcome[] = []
  readonly #scope: AnswerScope
  // Most of the time there is one, or none.
  #open: OpenBlock[] = []
  readonly #inputs: ToolInputs | undefined

  constructor(scope: AnswerScope = { callIds: new Set(), providerCalls: new Map() }) {
    this.#scope = scope
    if (scope.toolCallDeltas) this.#inputs = new ToolInputs((givenId) => this.#assignId(givenId))
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
        if (part.citations !== undefined || this.made !== undefined) this.#make().endText(part.citations)
        this.#close(part.id, part.providerMetadata)
        return undefined
      case 'reasoning-end':
        this.#close(part.id, part.providerMetadata)
        return undefined
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
        return this.#inputs?.take(part)
      case 'tool-call':
        return part.providerExecuted ? this.#callByProvider(part) : this.#call(part)
      case 'tool-result':
        return this.#resultOfProvider(part)
      case 'file':
      case 'reasoning-file':
        this.content.push(toPromptFile(part))
        this.#make().addFile(part)
        return undefined
      case 'source':
        this.#make().addSource(part)
        return undefined
      case 'custom':
        this.content.push(withOptions({ type: 'custom', kind: part.kind }, part.providerMetadata))
        return undefined
      case 'response-metadata':
        this.modelId = part.modelId ?? this.modelId
        return undefined
      case 'finish':
        this.ended = part.finishReason
        this.usage = toUsage(part.usage)
        this.made?.endText()
        this.cut()
        return undefined
      case 'stream-start':
        this.warnings = part.warnings
        return undefined
      case 'tool-approval-request':
        return this.#refuseApproval(part)
      case 'error':
        throw part.error
      default:
        return undefined
    }
  }

  /** Closes the blocks whose text is still arriving: nothing more will. */
  cut(): void {
    for (const { id } of this.#open) this.#close(id, undefined)
  }

  /** The text without the reasoning. */
  get text(): string {
    let text = ''
    for (const part of this.content) if (part.type === 'text') text += part.text
    return text
  }

  get finishReason(): Exclude<StepFinishReason, 'tool-calls'> {
    const reason = this.ended?.unified
    return reason === 'stop' || reason === 'length' || reason === 'content-filter' ? reason : 'other'
  }

  /** As `finishReason`, and `tool-calls` if the model called tools of ours. */
  get stepFinishReason(): StepFinishReason {
    return this.toolCalls.length > 0 ? 'tool-calls' : this.finishReason
  }

  /** The answer as a message for the next model call. */
  toMessage(): LanguageModelV4Message {
    return { role: 'assistant', content: this.content }
  }

  #begin(type: Block['type'], id: string, metadata: SharedV4ProviderMetadata | undefined): OpenBlock {
    this.#close(id, undefined)
    const block: Block = { type, text: '' }
    setMetadata(block, metadata)
    const open = { id, block, texts: [] }
    this.#open.push(open)
    this.content.push(block)
    return open
  }

  #extend(part: Extract<LanguageModelV4StreamPart, { type: 'text-delta' | 'reasoning-delta' }>) {
    const type = part.type === 'text-delta' ? 'text' : 'reasoning'
    let open = this.#openOf(part.id)
    if (open === undefined || open.block.type !== type) open = this.#begin(type, part.id, undefined)
    if (part.providerMetadata !== undefined) setMetadata(open.block, part.providerMetadata)
    const text = part.delta
    if (text === '') return undefined
    open.texts.push(text)
    return { type, text } as const
  }

  #openOf(id: string): OpenBlock | undefined {
    for (const open of this.#open) if (open.id === id) return open
    return undefined
  }

  #close(id: string, metadata: SharedV4ProviderMetadata | undefined): void {
    const open = this.#openOf(id)
    if (open === undefined) return
    setMetadata(open.block, metadata)
    open.block.text = open.texts.join('')
    this.#open = this.#open.filter((each) => each !== open)
  }

  #make(): MadeParts {
    return (this.made ??= new MadeParts())
  }

  /** Records a call of a tool the provider executes, whose result may be in a later answer. */
  addProviderCall(call: ProviderOutcome['call']): void {
    this.#scope.callIds.add(call.toolCallId)
    this.#scope.providerCalls.set(call.toolCallId, { ...call, startedAt: performance.now() })
    this.providerCalls.push(call)
  }

  // Its id is the provider's own, which pairs it with its result in later prompts.
  #callByProvider({ toolCallId, toolName, input, providerMetadata }: LanguageModelV4ToolCall): YieldedPart {
    this.#inputs?.takeId(toolCallId)
    const { args } = parseArgs(input)
    this.addProviderCall({ toolCallId, toolName, args })
    const call = {
      type: 'tool-call',
      toolCallId,
      toolName,
      input: toObject(args),
      providerExecuted: true
    } as const
    this.content.push(withOptions(call, providerMetadata))
    return { type: 'tool.call', toolCallId, toolName, args, providerExecuted: true }
  }

  #resultOfProvider(part: LanguageModelV4ToolResult): YieldedPart | undefined {
    const { toolCallId, toolName, result, isError = false, preliminary, providerMetadata } = part
    if (preliminary) return undefined
    const { startedAt = performance.now(), ...call } = this.#scope.providerCalls.get(toolCallId) ?? {
      toolCallId,
      toolName,
      args: {}
    }
    const output = { type: isError ? 'error-json' : 'json', value: result } as const
    this.content.push(withOptions({ type: 'tool-result', toolCallId, toolName, output }, providerMetadata))
    if (isError) {
      const error = toToolError(new RUN_ERR_TOOL_FAILED(JSON.stringify(result).slice(0, MAX_ERROR)))
      this.providerOutcomes.push({ call, error })
      return { type: 'tool.error', toolCallId, toolName, error, providerExecuted: true }
    }
    const { shown, image } = separateImage(result)
    if (image !== undefined) this.#make().addToolFile(image, toolCallId)
    this.providerOutcomes.push({ call, result: shown })
    const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000
    return { type: 'tool.result', toolCallId, toolName, result: shown, durationMs, providerExecuted: true }
  }

  // The run would end without a word on it.
  #refuseApproval({ toolCallId }: LanguageModelV4ToolApprovalRequest): YieldedPart | undefined {
    const { startedAt: _, ...call } = this.#scope.providerCalls.get(toolCallId) ?? {}
    if (!('toolName' in call)) return undefined
    const error = toToolError(new RUN_ERR_TOOL_FAILED(NO_APPROVALS))
    this.providerOutcomes.push({ call, error })
    return { type: 'tool.error', toolCallId, toolName: call.toolName, error, providerExecuted: true }
  }

  #call({ toolCallId: givenId, toolName, input, providerMetadata }: LanguageModelV4ToolCall) {
    const toolCallId = this.#inputs?.takeId(givenId) ?? this.#assignId(givenId)
    const { args, fault } = parseArgs(input)
    const promptPart: LanguageModelV4ToolCallPart = withOptions(
      { type: 'tool-call', toolCallId, toolName: toToolName(toolName), input: toObject(args) },
      providerMetadata
    )
    this.content.push(promptPart)
    this.toolCalls.push({ toolCallId, toolName, args, promptPart, ...(fault !== undefined && { fault }) })
    return { type: 'tool.call', toolCallId, toolName, args } as const
  }

  #assignId(givenId: string): string {
    const { callIds } = this.#scope
    const toolCallId = givenId && !callIds.has(givenId) ? givenId : `call_${randomUUID()}`
    callIds.add(toolCallId)
    return toolCallId
  }
}

function setMetadata(block: Block | undefined, metadata: SharedV4ProviderMetadata | undefined): void {
  if (block !== undefined && metadata !== undefined) block.providerOptions = metadata
}
