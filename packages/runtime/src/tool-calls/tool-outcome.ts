import {
  defined,
  isExposed,
  type Awaitable,
  type ContentPart,
  type ContentReference,
  type Journal,
  type ToolError,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_DAMAGED } from '@svc/contract/errors'
import { RUN_ERR_TOOL_BAD_OUTPUT, RUN_ERR_TOOL_FAILED, RUN_ERR_TOOL_OUTPUT_TOO_LARGE } from '../errors.ts'
import { toReference } from '../files/urls.ts'
import { isRecord } from '../schemas/compile-schema.ts'

const PROGRAM_CODES: ReadonlySet<string> = new Set([
  'RUN_ERR_PROGRAM_FAILED',
  'RUN_ERR_PROGRAM_TIMEOUT',
  'RUN_ERR_PROGRAM_MEMORY',
  'RUN_ERR_SANDBOX_BUSY',
  'RUN_ERR_SANDBOX_CLOSED',
  'RUN_ERR_SANDBOX_FAILED',
  'RUN_ERR_SANDBOX_MISSING',
  'RUN_ERR_TOOL_UNKNOWN',
  'RUN_ERR_TOOL_BAD_ARGS',
  'RUN_ERR_TOOL_FAILED',
  'RUN_ERR_TOOL_TIMEOUT',
  'RUN_ERR_TOOL_BAD_OUTPUT',
  'RUN_ERR_TOOL_OUTPUT_TOO_LARGE'
])

/** True for errors of a program or of a tool that it called: the model can correct these. */
export function isProgramCode(code: string): boolean {
  return PROGRAM_CODES.has(code)
}

/** The error that models and clients see; `otherwise` replaces an error that is not `expose`. */
export function toToolError(
  err: unknown,
  otherwise: ToolError = new RUN_ERR_TOOL_FAILED('The tool call failed')
): ToolError {
  const { code, message } = isExposed(err) ? err : otherwise
  return { code, message: message.toWellFormed() }
}

/** A piece of a tool's result: text, or binary content as base64. */
export type ToolContentPart =
  | Extract<ContentPart, { text: string }>
  | (Exclude<ContentPart, { url: string } | { text: string }> & {
      /** Of the `file` part, such as `screenshot`. */
      purpose?: string
    })

const brand: unique symbol = Symbol.for('svc.tool-content') as never

/** A result with images, audio or files. */
export interface ToolContent {
  readonly [brand]: readonly ToolContentPart[]
}

const MAX_BYTES = 10 * 1024 * 1024

/**
 * Makes a result with more than text, at most 10 MiB. The model sees all of it in this turn; the log of the run and the
 * session keep references instead of the bytes, which the file store of the app keeps: see the `file` parts of the call.
 */
export function toolContent(parts: readonly ToolContentPart[]): ToolContent {
  return { [brand]: [...parts] }
}

/** The parts of a result of `toolContent`; undefined for any other result. */
export function contentOf(result: unknown): readonly ToolContentPart[] | undefined {
  if (typeof result !== 'object' || result === null) return undefined
  // Reads an own property only, so that no accessor of the tool runs.
  return Object.getOwnPropertyDescriptor(result, brand)?.value as readonly ToolContentPart[] | undefined
}

/** Such a result in the log and in `toolCalls`: binary content is replaced by references. */
export interface ReferencedContent {
  content: (ToolContentPart | ContentReference)[]
}

/** Content for logs and sessions. @throws RUN_ERR_TOOL_BAD_OUTPUT, RUN_ERR_TOOL_OUTPUT_TOO_LARGE */
export async function toReferences(parts: readonly ToolContentPart[]): Promise<ReferencedContent> {
  const size = parts.reduce((sum, part) => sum + sizeOf(part), 0)
  if (size > MAX_BYTES) throw new RUN_ERR_TOOL_OUTPUT_TOO_LARGE(size, MAX_BYTES)
  const content = await Promise.all(parts.map(toReference))
  return { content: content as ReferencedContent['content'] }
}

function sizeOf(part: ToolContentPart): number {
  if (part.type === 'text' && typeof part.text === 'string') return Buffer.byteLength(part.text)
  if (part.type !== 'text' && typeof part.data === 'string' && typeof part.mimeType === 'string')
    return Buffer.byteLength(part.data, 'base64')
  throw new RUN_ERR_TOOL_BAD_OUTPUT('a part of its content is neither text nor data with a mimeType')
}

/** A tool call as work in progress: until it ends, except while it waits for someone. */
export class CallWork {
  readonly #journal: Journal
  #end: (() => void) | undefined
  #waits = 0
  #ended = false

  constructor(journal: Journal) {
    this.#journal = journal
    this.#end = journal.work()
  }

  /** Settles like `wait()`; meanwhile the call is not in progress. */
  async rest<T>(wait: () => Promise<T>): Promise<T> {
    if (this.#waits++ === 0) this.#end?.()
    try {
      return await wait()
    } finally {
      if (--this.#waits === 0 && !this.#ended) this.#end = this.#journal.work()
    }
  }

  end(): void {
    this.#ended = true
    this.#end?.()
  }
}

/** A call of a tool, by the model or by another tool. */
export interface ToolCall {
  readonly toolCallId: string
  readonly toolName: string
  /** The call that made this one. */
  readonly parentToolCallId?: string
  /** The raw text if it is not JSON. */
  readonly args: unknown
  /** Why the arguments are not JSON. */
  readonly fault?: string
}

/** The outcome of a tool call: a result, or an error that the model may correct. */
export interface ToolOutcome<C extends ToolCall = ToolCall> {
  readonly call: C
  /** The arguments, if an approval edited them. */
  readonly editedArgs?: unknown
  readonly result?: unknown
  /** Shown to the model instead of the result, if that has more than text. */
  readonly content?: readonly ToolContentPart[]
  readonly error?: ToolError
  /** Milliseconds of the tool itself; 0 if it was not called. */
  readonly durationMs: number
}

/** The part of a nested call; the parts of the model's own calls come from its stream. */
export function toCallPart({ args, ...call }: ToolCall): YieldedPart {
  return { type: 'tool.call', ...namesOf(call), args }
}

/** The part of an outcome. */
export function toOutcomePart({ call, result, error, durationMs }: ToolOutcome): YieldedPart {
  if (error) return { type: 'tool.error', ...namesOf(call), error }
  return { type: 'tool.result', ...namesOf(call), result, durationMs }
}

function namesOf({ toolCallId, toolName, parentToolCallId }: Omit<ToolCall, 'args'>) {
  return { toolCallId, toolName, ...defined({ parentToolCallId }) }
}

/** Emits a part; `onRead` is called when its reader asks for the next one. */
export type EmitPart = (part: YieldedPart, onRead?: () => void) => void

type OutcomeRecord = Omit<ToolOutcome, 'call'>

/** The journal of the tool calls of one step. */
export class CallJournal {
  readonly #journal: Journal
  readonly #resumed: boolean

  /** @param resumed true if an earlier process recorded the step, and may have begun its calls */
  constructor(journal: Journal, resumed: boolean) {
    this.#journal = journal
    this.#resumed = resumed
  }

  /** The outcome of a call that an earlier process recorded. @throws RUN_ERR_DAMAGED */
  async recall<C extends ToolCall>(call: C): Promise<ToolOutcome<C> | undefined> {
    if (!this.#resumed) return undefined
    const found = await this.#journal.recall(keyOf(call))
    return found && { call, ...toOutcomeRecord(found.output, call) }
  }

  /** Called before a call that is not recorded: another node may have taken the run while this one asked the store. */
  mayBegin(): Awaitable<void> {
    if (this.#resumed) return this.#journal.mayContinue()
  }

  /** The part of a recalled outcome. */
  replay(outcome: ToolOutcome): YieldedPart {
    return this.#journal.replay(toOutcomePart(outcome))
  }

  /** The part of a new outcome, with its record. */
  record({ call, ...outcome }: ToolOutcome): YieldedPart {
    return this.#journal.record(toOutcomePart({ call, ...outcome }), keyOf(call), outcome).part
  }

  /** Emits the part of a nested call; resolves when the store has it, so that the call may begin. */
  begin(call: ToolCall, emit: EmitPart): Awaitable<void> {
    const part = toCallPart(call)
    if (this.#begun(call)) return emit(this.#journal.replay(part))
    const recorded = this.#journal.record(part, `#begun ${call.toolCallId}`, null)
    return new Promise((resolve) => emit(recorded.part, () => resolve(recorded.stored())))
  }

  /**
   * True if a call may have been executed already, or in part: an earlier process began it, and not only to wait.
   * @param approved true if it has been approved, before the restart or since
   */
  mayHaveHappened(call: ToolCall, approved: boolean): boolean {
    if (!this.#begun(call)) return false
    const wait = this.#journal.earlierWait(call.toolCallId)
    return wait === 'none' ? !approved : wait === 'answered'
  }

  /** Marks a call as work in progress. */
  work(): CallWork {
    return new CallWork(this.#journal)
  }

  // Calls of the model begin with the record of their step, nested ones with their own.
  #begun({ toolCallId, parentToolCallId }: ToolCall): boolean {
    return this.#resumed && (parentToolCallId === undefined || this.#journal.hasCall(toolCallId))
  }
}

function toOutcomeRecord(output: unknown, call: ToolCall): OutcomeRecord {
  if (!isRecord(output) || typeof output['durationMs'] !== 'number') throw new RUN_ERR_DAMAGED(keyOf(call))
  return output as unknown as OutcomeRecord
}

function keyOf({ toolCallId }: ToolCall): string {
  return `#call ${toolCallId}`
}
