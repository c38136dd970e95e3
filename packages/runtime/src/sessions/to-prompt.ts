import type {
  LanguageModelV4,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4TextPart,
  LanguageModelV4ToolChoice,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart
} from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import {
  isBlank,
  requireOptions,
  ToolChoiceSchema,
  type Awaitable,
  type ContentPart,
  type ContentReference,
  type FinishReason,
  type MessageInput,
  type PartOf,
  type RunContext,
  type SessionMessage,
  type ToolChoice,
  type ToolError,
  type Usage
} from '@svc/contract'
import { prefixBadOptions, prefixedError } from '../checks/option-errors.ts'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import { toReference, type UrlSupport } from '../files/urls.ts'
import type { EndListener } from '../guards/guard.ts'
import { isPlain } from '../json/json.ts'
import { optional, strict } from '../loop/model-options.ts'
import type { ModelAnswer, ModelToolCall } from '../models/model-answer.ts'
import type { Model } from '../models/model.ts'
import { toObject } from '../models/prompt-content.ts'
import type { SaidMessage } from './history.ts'
import type { ToolContentPart, ToolOutcome } from '../tool-calls/tool-outcome.ts'
import { toToolName, unusedName, type AgentTool, type ToolSet } from '../tools/tool-set.ts'

type ResultPart = Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number]
type ToolMessage = Extract<SessionMessage, { role: 'tool' }>
type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]

/**
 * Converts a conversation for a prompt; replaces unsupported URLs with a text that names them.
 * @param push takes each message, and of how many of the conversation it is made
 */
export function pushHistory(
  messages: readonly SaidMessage[],
  supports: UrlSupport,
  push: (message: LanguageModelV4Message, size: number) => void
): void {
  // Models repeat ids in later turns, and providers refuse that.
  const taken = new Set<string>()
  for (let at = 0; at < messages.length;) {
    const message = messages[at++]!
    if (message.role === 'user') push(toUserMessage(message.content, supports), 1)
    if (message.role !== 'assistant') continue
    const ids = new Map<string, string>()
    for (const { toolCallId } of message.toolCalls ?? []) ids.set(toolCallId, unusedName(toolCallId, taken))
    const answer = toAssistantContent(message, ids)
    const results: LanguageModelV4ToolResultPart[] = []
    let ofAnswer = 1
    for (let next = messages[at]; next?.role === 'tool'; next = messages[++at]) {
      const part = toResultPart(next, ids)
      // Results of the provider's own calls are a part of the answer that has the calls.
      if (!answer.some((each) => isProviderCall(each, part.toolCallId))) results.push(part)
      else if (answer.push(part)) ofAnswer++
    }
    push({ role: 'assistant', content: answer }, ofAnswer)
    push({ role: 'tool', content: results }, results.length)
  }
}

function toResultPart(
  { toolCallId, toolName, result, error }: ToolMessage,
  ids: ReadonlyMap<string, string>
): LanguageModelV4ToolResultPart {
  return {
    type: 'tool-result',
    toolCallId: ids.get(toolCallId) ?? toolCallId,
    toolName: toToolName(toolName),
    output: toResultOutput(result, error)
  }
}

function isProviderCall(part: AssistantPart, toolCallId: string): boolean {
  return part.type === 'tool-call' && part.providerExecuted === true && part.toolCallId === toolCallId
}

/** Converts a user message for the prompt; without `supports`, keeps every URL. */
export function toUserMessage(
  content: MessageInput | readonly (ContentPart | ContentReference)[],
  supports: UrlSupport = () => true
): LanguageModelV4Message {
  if (typeof content === 'string') return { role: 'user', content: [{ type: 'text', text: content }] }
  return { role: 'user', content: content.map((part) => toUserPart(part, supports)) }
}

/** Converts the outcome of a tool call for the prompt. */
export function toResultOutput(
  result: unknown,
  error: ToolError | undefined,
  content?: readonly ToolContentPart[]
): LanguageModelV4ToolResultOutput {
  if (error !== undefined)
    return { type: 'error-text', value: isBlank(error.message) ? error.code : error.message }
  const shown = content?.filter((part) => part.type !== 'text' || !isBlank(part.text)) ?? []
  if (shown.length > 0) return { type: 'content', value: shown.map(toContentPart) }
  // Providers refuse blank texts: as JSON they are none.
  return typeof result === 'string' && !isBlank(result)
    ? { type: 'text', value: result }
    : { type: 'json', value: (result ?? null) as never }
}

function toContentPart(part: ToolContentPart): ResultPart {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const { mimeType: mediaType, data, filename } = part
  return {
    type: 'file',
    mediaType,
    data: { type: 'data', data },
    ...(filename !== undefined && { filename })
  }
}

function toUserPart(
  part: ContentPart | ContentReference,
  supports: UrlSupport
): LanguageModelV4TextPart | LanguageModelV4FilePart {
  if (part.type === 'text') return { type: 'text', text: part.text }
  if ('sha256' in part) return describe(part, `${part.size} bytes`)
  const { mimeType: mediaType, filename } = part
  const name = filename === undefined ? {} : { filename }
  if ('data' in part) return { type: 'file', mediaType, data: { type: 'data', data: part.data }, ...name }
  const url = URL.parse(part.url)
  if (url === null || !supports(url, mediaType)) return describe(part, part.url)
  return { type: 'file', mediaType, data: { type: 'url', url }, ...name }
}

function describe(
  { type, filename, mimeType }: Pick<ContentReference, 'type' | 'filename' | 'mimeType'>,
  detail: string,
  origin: 'sent' | 'made' = 'sent'
): LanguageModelV4TextPart {
  const name = filename === undefined ? type : `${type} ${filename}`
  return { type: 'text', text: `[${name}, ${mimeType}, ${detail}, ${origin} earlier]` }
}

const INTERRUPTED = '[interrupted here]'

function toAssistantContent(
  { text: said, interrupted, files = [], toolCalls = [] }: AssistantMessage,
  ids: ReadonlyMap<string, string>
): AssistantPart[] {
  const text = interrupted === true ? `${said} ${INTERRUPTED}`.trimStart() : said
  const calls = toolCalls.map(({ toolCallId, toolName, args, providerExecuted }) => ({
    type: 'tool-call' as const,
    toolCallId: ids.get(toolCallId) ?? toolCallId,
    toolName: toToolName(toolName),
    input: toObject(args),
    ...(providerExecuted === true && { providerExecuted })
  }))
  const made = files.map((file) => describe(file, 'url' in file ? file.url : `${file.size} bytes`, 'made'))
  return [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...made, ...calls]
}

/** An answer of a session. */
export type AssistantMessage = Extract<SessionMessage, { role: 'assistant' }>
type UserMessage = Extract<SessionMessage, { role: 'user' }>
type FileReference = NonNullable<AssistantMessage['files']>[number]

/** Converts an input for the session; binary content becomes a reference without the bytes. */
export function toSessionInput(input: MessageInput): Awaitable<UserMessage> {
  return typeof input === 'string' ? { role: 'user', content: input } : toReferences(input)
}

async function toReferences(input: readonly ContentPart[]): Promise<UserMessage> {
  return { role: 'user', content: await Promise.all(input.map(toReference)) }
}

/** Converts one step of a turn for the session; empty for an answer without content. */
export function toSessionStep(
  answer: ModelAnswer,
  outcomes: readonly ToolOutcome<ModelToolCall>[]
): SessionMessage[] {
  const { text, providerOutcomes } = answer
  const files = answer.files.length === 0 ? {} : { files: answer.files.map(toFileReference) }
  if (outcomes.length + providerOutcomes.length === 0)
    return text === '' && answer.files.length === 0 ? [] : [{ role: 'assistant', text, ...files }]
  const ofProvider = providerOutcomes.map(({ call }) => ({ ...call, providerExecuted: true }))
  const toolCalls = outcomes.map(({ call: { promptPart } }) => {
    const { toolCallId, toolName, input } = promptPart
    return { toolCallId, toolName, args: input }
  })
  return [
    { role: 'assistant', text, ...files, toolCalls: [...ofProvider, ...toolCalls] },
    ...providerOutcomes.map(({ call, ...outcome }) => toToolMessage(call, outcome)),
    ...outcomes.map(({ call: { promptPart }, ...outcome }) => toToolMessage(promptPart, outcome))
  ]
}

function toFileReference({ mimeType, filename, url, sha256 = '', size = 0 }: PartOf<'file'>): FileReference {
  const [top] = mimeType.split('/')
  const type = top === 'image' || top === 'audio' ? top : 'file'
  const file = { type, mimeType, ...(filename !== undefined && { filename }) } as const
  return url === undefined ? { ...file, sha256, size } : { ...file, url }
}

function toToolMessage(
  { toolCallId, toolName }: { toolCallId: string; toolName: string },
  { result, error }: Pick<ToolOutcome, 'result' | 'error'>
): SessionMessage {
  return { role: 'tool', toolCallId, toolName, ...(error === undefined ? { result } : { error }) }
}

/** One step of a run so far: a model call, and the tool calls it led to. */
export interface StepResult {
  readonly stepNumber: number
  readonly text: string
  readonly toolCalls: readonly StepToolCall[]
  readonly finishReason: FinishReason | 'tool-calls'
  /** Undefined where the provider did not report it. */
  readonly usage: Usage | undefined
}

/** A tool call of a step, with its result or error. */
export interface StepToolCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly args: unknown
  readonly result?: unknown
  readonly error?: ToolError
}

/** Decides after a step with tool calls whether the run stops there. The steps are frozen copies. */
export type StopCondition = (state: { readonly steps: readonly StepResult[] }) => Awaitable<boolean>

/** Stops after so many steps. @throws RUN_ERR_BAD_AGENT unless `count` is an integer of at least 1 */
export function stepCountIs(count: number): StopCondition {
  requireOptions(Type.Integer({ minimum: 1 }), count, prefixedError('stepCountIs', RUN_ERR_BAD_AGENT))
  return ({ steps }) => steps.length >= count
}

/** Stops after a step that called the tool. @throws RUN_ERR_BAD_AGENT for an empty name */
export function hasToolCall(toolName: string): StopCondition {
  requireOptions(Type.String({ minLength: 1 }), toolName, prefixedError('hasToolCall', RUN_ERR_BAD_AGENT))
  return ({ steps }) => steps.at(-1)?.toolCalls.some((call) => call.toolName === toolName) ?? false
}

/** A message of a prompt; see `LanguageModelV4Message` of `@ai-sdk/provider`. */
export type PromptMessage = LanguageModelV4Message

/** The step that is about to begin. */
export interface StepState {
  readonly stepNumber: number
  /** Frozen copies. */
  readonly steps: readonly StepResult[]
  readonly model: LanguageModelV4
  /** A copy of the prompt without its instructions. */
  readonly messages: readonly PromptMessage[]
  readonly context: RunContext
  /** True if an earlier process made the model call: the changes decide only what the calls of the step may use. */
  readonly isReplayed: boolean
  /** As in `ToolContext`. */
  onEnd(listener: EndListener): () => void
}

/** Changes for one step; the default is the agent's own. */
export interface StepChanges {
  model?: Model
  instructions?: string
  /** Replaces the messages of the prompt. */
  messages?: readonly PromptMessage[]
  /** Replaces the agent's own tools; the model can still load skills. */
  tools?: readonly AgentTool[]
  /** The names of the tools the model sees. */
  activeTools?: readonly string[]
  toolChoice?: ToolChoice
}

/** Prepares each step before its model call. */
export type PrepareStep = (state: StepState) => Awaitable<StepChanges | undefined | void>

/** A choice as providers take it. */
export function toModelChoice(choice: ToolChoice): LanguageModelV4ToolChoice {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.toolName }
}

/** A served tool call as conditions and `prepareStep` see it. */
export function toStepCall({
  call,
  editedArgs,
  result,
  error
}: Pick<ToolOutcome, 'call' | 'editedArgs' | 'result' | 'error'>): StepToolCall {
  const { toolCallId, toolName, args } = call
  return { toolCallId, toolName, args: editedArgs ?? args, ...(error === undefined ? { result } : { error }) }
}

const StepChangesSchema = Type.Object(
  {
    model: optional(Type.Any()),
    instructions: optional(Type.String()),
    messages: optional(Type.Array(Type.Object({ role: Type.String() }), { minItems: 1 })),
    tools: optional(Type.Array(Type.Any())),
    activeTools: optional(Type.Array(Type.String())),
    toolChoice: optional(ToolChoiceSchema)
  } satisfies Record<keyof StepChanges, unknown>,
  strict
)
const BadStep = prefixedError('prepareStep', RUN_ERR_BAD_AGENT)

/** Prepares a step and checks the changes; errors name the `subject`. @throws RUN_ERR_BAD_AGENT, the error of `prepareStep` */
export async function prepareChanges(
  subject: string,
  prepareStep: PrepareStep,
  state: StepState
): Promise<StepChanges | undefined> {
  return prefixBadOptions(subject, async () => {
    const changes = await prepareStep(state)
    if (changes === undefined) return undefined
    requireOptions(StepChangesSchema, changes, BadStep)
    return changes
  })
}

/** Makes sure that a step has the tool of its tool choice. @throws RUN_ERR_BAD_AGENT */
export function requireTool(tools: ToolSet, name: string): void {
  if (!tools.forModel?.some((tool) => tool.name === name))
    throw new BadStep(`toolChoice: the step has no tool "${name}" in its prompt`)
}

/** Makes sure that a condition returned a boolean. @throws RUN_ERR_BAD_AGENT */
export function requireBoolean(subject: string, result: unknown): asserts result is boolean {
  if (typeof result === 'boolean') return
  requireOptions(Type.Boolean(), result, prefixedError(`${subject}: stopWhen`, RUN_ERR_BAD_AGENT))
}

/** Copies lists and plain objects at any depth; other objects, such as URLs and bytes, are shared. */
export function copyPlain<T>(value: T, finish: <Copy>(copy: Copy) => Copy = (copy) => copy): T {
  if (Array.isArray(value)) return finish(value.map((each: unknown) => copyPlain(each, finish))) as T
  if (!isPlain(value)) return value
  return finish(
    Object.fromEntries(Object.entries(value).map(([key, each]) => [key, copyPlain(each, finish)]))
  ) as T
}
