import {
  AcceptedMessageSchema,
  checkOf,
  ClientToolsSchema,
  ConversationSchema,
  DataContentPartSchema,
  faultsOfIssues,
  FileContentPartSchema,
  findChoiceFault,
  findFaults,
  findJsonFault,
  formatFaults,
  InstructionsSchema,
  isBlank,
  isExposed,
  isPromise,
  MessageInputSchema,
  NO_METADATA,
  RunMetadataSchema,
  CompactAtSchema,
  StopTextsSchema,
  TextContentPartSchema,
  ToolChoiceSchema,
  UrlContentPartSchema,
  validateStandard,
  type Awaitable,
  type ChildCaller,
  type Fault,
  type RunInput,
  type RunMetadata,
  type Runnable,
  type SessionMessage,
  type SummaryMessage,
  type StandardResult,
  type StandardSchema,
  type ToolChoice
} from '@svc/contract'
import {
  RUN_ERR_BAD_INPUT,
  RUN_ERR_BAD_SCHEMA,
  RUN_ERR_NO_COMPACTION,
  RUN_ERR_NO_CONVERSATION,
  RUN_ERR_TOOL_NAME_TAKEN,
  RUN_ERR_WHEN_BUSY
} from '@svc/contract/errors'
import { Type, type TSchema } from '@sinclair/typebox'
import type { CallerOptions, StartOptions } from './start-options.ts'
import { contentTypeOf } from '../files/keep-file.ts'

const NO_MESSAGE: Fault = {
  path: 'input',
  message: 'must be a text that is not blank, or a list of content parts'
}
const NO_PART = 'must be a content part: text, or image, audio or file with one of data and url'
const MAX_FAULTS = 20

const MESSAGES: Readonly<Record<string, string>> = {
  '/mimeType': 'must be a media type, such as image/png',
  '/data': 'must be base64',
  '/text': 'must be a text',
  '/url': 'must be a URL'
}

/** What is wrong with a message: of a list, which part and which field of it. @param fits whether the schema takes it */
function faultsOfMessage(input: unknown, fits: boolean): Fault[] {
  if (!Array.isArray(input) || input.length === 0) return [NO_MESSAGE]
  if (fits) {
    const odd = input.findIndex((part) => typeof part.data === 'string' && part.data.length % 4 === 1)
    if (odd >= 0) return [{ path: `input/${odd}/data`, message: 'must be base64' }]
    return input.every((part) => part.type === 'text' && isBlank(part.text)) ? [NO_MESSAGE] : []
  }
  const faults: Fault[] = []
  for (const [index, part] of input.entries()) {
    faults.push(...faultsOfPart(part, `input/${index}`, MAX_FAULTS - faults.length))
    if (faults.length === MAX_FAULTS) break
  }
  return faults.length > 0 ? faults : [NO_MESSAGE]
}

function faultsOfPart(part: unknown, path: string, limit: number): Fault[] {
  const schema =
    typeof part === 'object' && part !== null ? schemaOf(part as Record<string, unknown>) : undefined
  if (schema === undefined) return [{ path, message: NO_PART }]
  return findFaults(schema, part, { root: path, limit }).map((fault) => {
    const message = MESSAGES[fault.path.slice(path.length)]
    return message === undefined ? fault : { path: fault.path, message }
  })
}

function schemaOf(part: Record<string, unknown>) {
  if (part['type'] === 'text') return TextContentPartSchema
  if (!['image', 'audio', 'file'].includes(String(part['type']))) return undefined
  if (Object.hasOwn(part, 'data')) return DataContentPartSchema
  if (Object.hasOwn(part, 'url')) return UrlContentPartSchema
  return Object.hasOwn(part, 'file') ? FileContentPartSchema : undefined
}

const isMessage = checkOf(AcceptedMessageSchema)
const checks = new WeakMap<TSchema, (value: unknown) => boolean>()

/** Makes sure that an input is what the runnable takes: a message, or what its own schema says. @throws RUN_ERR_BAD_INPUT, RUN_ERR_BAD_SCHEMA */
export function requireInput(runnable: Pick<Runnable, 'inputSchema'>, input: unknown): void {
  const { inputSchema: schema = MessageInputSchema } = runnable
  const takesMessage = schema === MessageInputSchema
  if (takesMessage && typeof input === 'string' && !isBlank(input)) return
  const faults = takesMessage
    ? faultsOfMessage(input, isMessage(input))
    : (faultsByStandard(schema, input) ?? faultsByTypeBox(schema, input))
  if (faults.length > 0) throw badInput(faults)
}

// By a Standard Schema (standardschema.dev), where the schema is one. The runnable awaits an asynchronous one itself.
function faultsByStandard(schema: object, input: unknown): Fault[] | undefined {
  if ((schema as Partial<StandardSchema>)['~standard'] === undefined) return undefined
  const result = validate(schema as StandardSchema, input)
  return isPromise(result) ? [] : faultsOfIssues(result.issues ?? [], 'input', MAX_FAULTS)
}

function validate(schema: StandardSchema, input: unknown): Awaitable<StandardResult> {
  try {
    return validateStandard(schema, input)
  } catch (err) {
    if (isExposed(err)) throw err
    throw Object.assign(new RUN_ERR_BAD_SCHEMA('its validate threw'), { cause: err })
  }
}

function faultsByTypeBox(schema: TSchema, input: unknown): Fault[] {
  return checkFor(schema)(input) ? [] : findFaults(schema, input, { root: 'input', limit: MAX_FAULTS })
}

/** The error for a bad field of a start, with the faults in its `errors`. */
export function badInput(errors: Fault[]): Error {
  return Object.assign(new RUN_ERR_BAD_INPUT(formatFaults(errors)), { errors })
}

function checkFor(schema: TSchema): (value: unknown) => boolean {
  let check = checks.get(schema)
  if (check === undefined) checks.set(schema, (check = checkOf(schema)))
  return check
}

/** An input, and the conversation before it. */
interface TakenInput {
  readonly input: RunInput
  readonly messages: readonly SessionMessage[]
}

/**
 * Makes sure that each tool call of a conversation is followed by its result, as model providers require. Without an input takes
 * that of the last message; undefined if the conversation ends with results, or with the beginning of an answer to a user.
 * @throws RUN_ERR_BAD_INPUT
 */
function takeInput(messages: readonly SessionMessage[], input: RunInput): TakenInput {
  requireComplete(messages)
  const last = messages.at(-1)
  const isContinued = last?.role === 'tool' || (isSaid(last) && messages.some(({ role }) => role === 'user'))
  if (input !== undefined || isContinued) return { input, messages }
  if (last?.role === 'user') return { input: last.content, messages: messages.slice(0, -1) }
  const message =
    'is required, unless messages end with a user message, with the results of tool calls or with the beginning of an answer'
  throw badInput([{ path: 'input', message }])
}

function isSaid(message: SessionMessage | undefined): boolean {
  return message?.role === 'assistant' && message.text.trim() !== ''
}

function requireComplete(messages: readonly SessionMessage[]): void {
  let open = new Map<string, string>()
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      requireResult(message, open.get(message.toolCallId), index)
      open.delete(message.toolCallId)
      continue
    }
    requireNone(open.size, index - 1)
    if (message.role === 'summary') requireBeginning(message, index)
    if (message.role !== 'assistant') continue
    const { toolCalls = [] } = message
    open = new Map(toolCalls.map(({ toolCallId, toolName }) => [toolCallId, toolName]))
    if (open.size !== toolCalls.length)
      throw badInput([{ path: `messages/${index}/toolCalls`, message: 'must have different ids' }])
  }
  requireNone(open.size, messages.length - 1)
}

// What it replaces is not among the messages.
function requireBeginning({ keeps }: SummaryMessage, index: number): void {
  const path = `messages/${index}`
  if (index > 0) throw badInput([{ path, message: 'must be the first message, as a summary' }])
  if (keeps > 0) throw badInput([{ path: `${path}/keeps`, message: 'must be 0: no message is before it' }])
}

function requireResult(
  { toolName, result, error }: Extract<SessionMessage, { role: 'tool' }>,
  called: string | undefined,
  index: number
): void {
  const path = `messages/${index}`
  if (called === undefined) throw badInput([{ path, message: 'is the result of no tool call before it' }])
  if (called !== toolName)
    throw badInput([{ path: `${path}/toolName`, message: `must be "${called}", as in its call` }])
  if (result !== undefined && error !== undefined)
    throw badInput([{ path, message: 'must have a result or an error, not both' }])
}

function requireNone(open: number, index: number): void {
  if (open === 0) return
  const message = `must be followed by the results of all tool calls before it, ${open} more`
  throw badInput([{ path: `messages/${index}`, message }])
}

const FieldsSchema = Type.Partial(
  Type.Object({
    metadata: RunMetadataSchema,
    messages: ConversationSchema,
    instructions: InstructionsSchema,
    tools: ClientToolsSchema,
    toolChoice: ToolChoiceSchema,
    stop: StopTextsSchema,
    compactAt: CompactAtSchema
  } satisfies Record<keyof CallerOptions, unknown>)
)
const isFields = checkOf(FieldsSchema)

const MAX_LEVELS = 64
/** Characters of the JSON Schema of one tool's arguments. */
const MAX_SCHEMA = 65_536

/** A checked start: `input` is undefined only if the conversation ends with the results of tool calls, or with the beginning of an answer. */
interface PreparedStart<O> {
  readonly input: RunInput
  readonly options: O
}

/**
 * Checks what a caller gave, and takes the input from the end of `messages` if there is none. Metadata loses the caller's keys.
 * @throws RUN_ERR_BAD_INPUT, RUN_ERR_BAD_SCHEMA, RUN_ERR_NO_CONVERSATION, RUN_ERR_NO_COMPACTION, RUN_ERR_WHEN_BUSY, RUN_ERR_TOOL_NAME_TAKEN
 */
export function prepareStart<O extends StartOptions>(
  runnable: Pick<
    Runnable,
    'kind' | 'name' | 'inputSchema' | 'toolNames' | 'toolsVary' | 'takesTurns' | 'compacts'
  >,
  input: RunInput,
  options: O
): PreparedStart<O> {
  const { metadata, messages, sessionId, redact } = options
  if (options.compact === true) return prepareCompaction(runnable, input, options)
  if (!hasCallerOptions(options)) {
    const typed = withContentTypes(runnable, input)
    requireInput(runnable, typed)
    return { input: typed, options }
  }
  requireConversation(runnable, options)
  if (messages !== undefined && sessionId !== undefined)
    throw badInput([{ path: 'sessionId', message: 'must be left out where messages are given' }])
  const taken = messages === undefined ? { input, messages } : takeInput(messages, input)
  const isContinued =
    messages !== undefined && taken.input === undefined && runnable.inputSchema === undefined
  const typed = withContentTypes(runnable, taken.input)
  if (!isContinued) requireInput(runnable, typed)
  return {
    input: typed,
    options: { ...options, messages: taken.messages, metadata: toMetadata(metadata, redact) }
  }
}

function prepareCompaction<O extends StartOptions>(
  { kind, name, takesTurns, compacts }: Pick<Runnable, 'kind' | 'name' | 'takesTurns' | 'compacts'>,
  input: RunInput,
  options: O
): PreparedStart<O> {
  if (compacts !== true) throw new RUN_ERR_NO_COMPACTION(kind, name)
  const { metadata, sessionId, whenBusy, redact, ...others } = options
  if (input !== undefined || hasCallerOptions(others))
    throw badInput([{ path: 'input', message: 'must be left out where a session is compacted' }])
  if (sessionId === undefined) throw badInput([{ path: 'sessionId', message: 'is required' }])
  if (whenBusy !== undefined && whenBusy !== 'queue' && whenBusy !== 'reject')
    throw new RUN_ERR_WHEN_BUSY('a session is compacted with queue or reject')
  if (metadata !== undefined) requireFields({ metadata })
  // That of the runnable is for messages.
  const own = takesTurns === true ? { whenBusy: whenBusy ?? 'queue' } : {}
  return { input, options: { ...options, ...own, metadata: toMetadata(metadata, redact) } }
}

/**
 * Checks what replaces what the caller gave for a child.
 * @throws RUN_ERR_BAD_INPUT, RUN_ERR_NO_CONVERSATION, RUN_ERR_TOOL_NAME_TAKEN
 */
export function requireCaller(
  runnable: Pick<Runnable, 'kind' | 'toolNames' | 'toolsVary'>,
  { tools, ...caller }: ChildCaller
): void {
  requireConversation(runnable, { ...caller, tools: tools?.length === 0 ? undefined : tools })
}

/** True if a caller gave more than an input. */
export function hasCallerOptions(options: CallerOptions): boolean {
  const { metadata, messages, instructions, tools, toolChoice, stop, compactAt } = options
  return (
    metadata !== undefined ||
    messages !== undefined ||
    instructions !== undefined ||
    tools !== undefined ||
    toolChoice !== undefined ||
    stop !== undefined ||
    compactAt !== undefined
  )
}

/**
 * Checks what a caller gave besides an input.
 * @throws RUN_ERR_BAD_INPUT, RUN_ERR_NO_CONVERSATION, RUN_ERR_TOOL_NAME_TAKEN
 */
export function requireConversation(
  runnable: Pick<Runnable, 'kind' | 'toolNames' | 'toolsVary'>,
  { metadata, messages, instructions, tools, toolChoice, stop, compactAt }: CallerOptions
): void {
  const asked = { metadata, messages, instructions, tools, toolChoice, stop, compactAt }
  requireFields(asked)
  requireConverses(runnable, asked)
  if (tools !== undefined) requireTools(runnable, tools)
  if (toolChoice !== undefined) requireChoice(runnable, toolChoice, tools)
}

function requireFields(asked: CallerOptions): void {
  for (const [name, value] of Object.entries(asked)) {
    const fault = findJsonFault(value, MAX_LEVELS)
    if (fault !== undefined) throw badInput([{ path: name, message: fault }])
  }
  const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined))
  if (!isFields(given)) throw badInput(findFaults(FieldsSchema, given))
}

function requireConverses({ kind }: Pick<Runnable, 'kind'>, asked: CallerOptions): void {
  if (kind !== 'workflow') return
  for (const name of ['messages', 'instructions', 'tools', 'toolChoice', 'stop', 'compactAt'] as const)
    if (asked[name] !== undefined) throw new RUN_ERR_NO_CONVERSATION(name)
}

function requireTools(
  { toolNames = [] }: Pick<Runnable, 'toolNames'>,
  tools: NonNullable<CallerOptions['tools']>
): void {
  const names = new Set<string>()
  for (const [index, { name, input }] of tools.entries()) {
    const path = `tools/${index}`
    if (names.has(name)) throw badInput([{ path, message: `is another tool named "${name}"` }])
    names.add(name)
    if (toolNames.includes(name)) throw new RUN_ERR_TOOL_NAME_TAKEN(name)
    if (JSON.stringify(input).length > MAX_SCHEMA)
      throw badInput([{ path: `${path}/input`, message: `must have at most ${MAX_SCHEMA} characters` }])
  }
}

// A runnable that has names only when it runs checks them then.
function requireChoice(
  { toolNames, toolsVary }: Pick<Runnable, 'toolNames' | 'toolsVary'>,
  choice: ToolChoice,
  tools: NonNullable<CallerOptions['tools']> = []
): void {
  if (toolNames === undefined || toolsVary === true) return
  const fault = findChoiceFault(choice, [...tools.map(({ name }) => name), ...toolNames])
  if (fault !== undefined) throw badInput([{ path: 'toolChoice', message: fault }])
}

function toMetadata(
  metadata: RunMetadata | undefined,
  redact: StartOptions['redact']
): RunMetadata | undefined {
  if (metadata === undefined || Object.keys(metadata).length === 0) return undefined
  const copy = Object.freeze({ ...NO_METADATA, ...metadata })
  return redact === undefined ? copy : redact(copy)
}

interface GivenFile {
  readonly mimeType?: unknown
  readonly data?: unknown
}

/**
 * Gives the files of a message types that say what they are, since models take no others. The input is not changed.
 * @throws RUN_ERR_BAD_INPUT for a file whose type cannot be recognized
 */
function withContentTypes({ inputSchema }: Pick<Runnable, 'inputSchema'>, input: RunInput): RunInput {
  if (!Array.isArray(input) || inputSchema !== undefined) return input
  let typed: unknown[] | undefined
  for (const [index, part] of input.entries()) {
    const { data, mimeType = '' } = (part ?? {}) as GivenFile
    // What is wrong with its other fields is reported with those of the whole input.
    if (typeof data !== 'string' || data === '' || typeof mimeType !== 'string') continue
    const found = contentTypeOf(mimeType, data)
    if (found === undefined) {
      const given =
        mimeType === '' ? 'is not given' : `"${mimeType.slice(0, 64)}" does not say what the file is`
      const message = `${given}, and neither does its content: give the media type, such as application/pdf`
      throw badInput([{ path: `input/${index}/mimeType`, message }])
    }
    if (found === mimeType) continue
    typed ??= [...(input as unknown[])]
    const type = /^(image|audio)\//.exec(found)?.[1] ?? 'file'
    typed[index] = { ...(part as object), type, mimeType: found }
  }
  return typed ?? input
}
