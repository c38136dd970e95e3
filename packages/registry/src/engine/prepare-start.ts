import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import {
  ClientToolsSchema,
  ConversationSchema,
  findChoiceFault,
  findFaults,
  findJsonFault,
  InstructionsSchema,
  NO_METADATA,
  RUN_ERR_NO_CONVERSATION,
  RUN_ERR_TOOL_NAME_TAKEN,
  RunMetadataSchema,
  StopTextsSchema,
  ToolChoiceSchema,
  type ChildCaller,
  type RunInput,
  type RunMetadata,
  type Runnable,
  type ToolChoice
} from '@svc/contract'
import { badInput, requireInput } from './require-input.ts'
import { takeInput } from './take-input.ts'
import type { CallerOptions, StartOptions } from './start-options.ts'
import { contentTypeOf } from '../files/keep-file.ts'

const FieldsSchema = Type.Partial(
  Type.Object({
    metadata: RunMetadataSchema,
    messages: ConversationSchema,
    instructions: InstructionsSchema,
    tools: ClientToolsSchema,
    toolChoice: ToolChoiceSchema,
    stop: StopTextsSchema
  } satisfies Record<keyof CallerOptions, unknown>)
)
const fieldsCheck = TypeCompiler.Compile(FieldsSchema)

const MAX_LEVELS = 64
/** Characters of the JSON Schema of one tool's arguments. */
const MAX_SCHEMA = 65_536

/** A checked start: `input` is undefined only if the conversation ends with the results of tool calls, or with the beginning of an answer. */
export interface PreparedStart<O> {
  readonly input: RunInput
  readonly options: O
}

/**
 * Checks what a caller gave, and takes the input from the end of `messages` if there is none. Metadata loses the caller's keys.
 * @throws RUN_ERR_BAD_INPUT, RUN_ERR_BAD_SCHEMA, RUN_ERR_NO_CONVERSATION, RUN_ERR_TOOL_NAME_TAKEN
 */
export function prepareStart<O extends StartOptions>(
  runnable: Pick<Runnable, 'kind' | 'inputSchema' | 'toolNames' | 'toolsVary'>,
  input: RunInput,
  options: O
): PreparedStart<O> {
  const { metadata, messages, sessionId, redact } = options
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
  const { metadata, messages, instructions, tools, toolChoice, stop } = options
  return (
    metadata !== undefined ||
    messages !== undefined ||
    instructions !== undefined ||
    tools !== undefined ||
    toolChoice !== undefined ||
    stop !== undefined
  )
}

/**
 * Checks what a caller gave besides an input.
 * @throws RUN_ERR_BAD_INPUT, RUN_ERR_NO_CONVERSATION, RUN_ERR_TOOL_NAME_TAKEN
 */
export function requireConversation(
  runnable: Pick<Runnable, 'kind' | 'toolNames' | 'toolsVary'>,
  { metadata, messages, instructions, tools, toolChoice, stop }: CallerOptions
): void {
  const asked = { metadata, messages, instructions, tools, toolChoice, stop }
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
  if (!fieldsCheck.Check(given)) throw badInput(findFaults(FieldsSchema, given))
}

function requireConverses({ kind }: Pick<Runnable, 'kind'>, asked: CallerOptions): void {
  if (kind !== 'workflow') return
  for (const name of ['messages', 'instructions', 'tools', 'toolChoice', 'stop'] as const)
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
