import {
  RunCalls,
  type CallPlace,
  type NumberedPart,
  type PartOf,
  type RunCall,
  type ToolPart
} from '@svc/contract'
import type { AgUiEvent, Tag } from '../wire/events.ts'
import type { Speech } from './speech.ts'

/** A tool call in the thread. */
interface ThreadCall {
  readonly id: string
  readonly tag: Tag
  /** The JSON of the arguments that came in increments. */
  text: string
}

/** The result of a call of a void attempt. */
const REPEATED = 'The step is repeated'

/**
 * The tool calls of a run. The id of a call is that of the run and the `seq` of its first part, so that it is unique in the thread:
 * models may use the same ids again. Calls of a void attempt get a result too, so that no client takes them for calls that it is to execute.
 */
export class ToolCalls {
  readonly #speech: Speech
  readonly #known: ReadonlySet<string>
  readonly #calls: RunCalls<ThreadCall>
  readonly #asked = new Map<string, string>()
  // Calls of the client's tools that the run waits for, by the ids of their inputs.
  readonly #pending = new Map<string, { readonly id: string; readonly isAlone: boolean }>()
  #runId = ''
  // That of the part which is added.
  #tag: Tag = {}

  /** @param known calls of the client's tools whose results the client has already, since it made them */
  constructor(speech: Speech, known: ReadonlySet<string>) {
    this.#speech = speech
    this.#known = known
    this.#calls = new RunCalls(({ seq }) => ({ id: `${this.#runId}-call-${seq}`, tag: this.#tag, text: '' }))
  }

  set runId(runId: string) {
    this.#runId = runId
  }

  /** The calls of the client's tools that the run waits for: their ids in the thread. */
  get pending(): string[] {
    return Array.from(this.#pending.values(), ({ id }) => id)
  }

  /** The inputs of the client's tools, answered or not, by the ids of their calls in the thread. */
  get asked(): ReadonlyMap<string, string> {
    return this.#asked
  }

  /** The id in the thread of a call of the log. */
  idOf(call: CallPlace): string | undefined {
    return this.#calls.find(call)?.shown.id
  }

  add(part: ToolPart, tag: Tag): AgUiEvent[] {
    this.#tag = tag
    if (part.type === 'input.request') return part.kind === 'tool' ? this.#ask(part) : []
    if (part.type === 'input.response') return this.#answered(part)
    const { call, isFirst = false, isWhole } = this.#calls.add(part) ?? {}
    if (call === undefined) return []
    switch (part.type) {
      case 'tool.call.delta': {
        const { id: toolCallId } = call.shown
        call.shown.text += part.delta
        const args: AgUiEvent = { type: 'TOOL_CALL_ARGS', toolCallId, delta: part.delta, ...tag }
        return isFirst ? [this.#start(part, toolCallId), args] : [args]
      }
      case 'tool.call':
      case 'tool.approval.request':
        return isWhole ? this.#whole(part, call.shown, isFirst) : []
      case 'tool.result':
        return this.#end(call, { content: toContent(part.result) })
      case 'tool.error':
        return this.#end(call, { content: part.error.message, error: part.error })
      default:
        return []
    }
  }

  /** A step begins; ends what is open of its earlier attempt, which is void, and returns the ids of all calls of it. */
  begin(part: PartOf<'step.start'>): { events: AgUiEvent[]; isVoid: string[] } {
    const calls = this.#calls.begin(part)
    const events = ended(calls.filter(({ state }) => state === 'written'))
    for (const { shown, state } of calls)
      if (state !== 'over') events.push(resultOf(shown.id, shown.tag, { content: REPEATED, isVoid: true }))
    return { events, isVoid: calls.map(({ shown }) => shown.id) }
  }

  /** A member has ended: its next call voids nothing of this one. */
  finish(part: PartOf<'finish'>): void {
    this.#calls.finish(part)
  }

  /** Ends the calls whose arguments are under way. */
  closeAll(): AgUiEvent[] {
    return ended(this.#calls.dropWritten())
  }

  #whole(part: WholePart, { id: toolCallId, text }: ThreadCall, isFirst: boolean): AgUiEvent[] {
    const args = JSON.stringify(part.args ?? {})
    const end: AgUiEvent = { type: 'TOOL_CALL_END', toolCallId, ...this.#tag }
    if (isFirst) {
      const whole: AgUiEvent = { type: 'TOOL_CALL_ARGS', toolCallId, delta: args, ...this.#tag }
      return [this.#start(part, toolCallId), whole, end]
    }
    // What was sent cannot be taken back.
    const isSame = text === args || isSameJson(text, args)
    return [isSame ? end : { ...end, metadata: { args: part.args ?? {} } }]
  }

  #start(part: NumberedPart & { toolName: string }, toolCallId: string): AgUiEvent {
    const { parentToolCallId: parent, source } = part as { parentToolCallId?: string; source?: string[] }
    const parentToolCallId = parent && (this.idOf({ toolCallId: parent, source }) ?? parent)
    return {
      type: 'TOOL_CALL_START',
      toolCallId,
      toolCallName: part.toolName,
      parentMessageId: this.#speech.messageOf(part, this.#tag),
      ...this.#tag,
      ...(parentToolCallId !== undefined && { metadata: { parentToolCallId } })
    }
  }

  #end({ shown: { id }, isClient, editedArgs: args }: RunCall<ThreadCall>, outcome: Outcome): AgUiEvent[] {
    if (isClient && this.#known.has(id)) return []
    return [resultOf(id, this.#tag, { ...outcome, args })]
  }

  #ask(part: NumberedPart & PartOf<'input.request'>): AgUiEvent[] {
    const { inputId, toolCallId = inputId, toolName = '', args, source } = part
    const found = this.#calls.find({ toolCallId, source })
    if (found?.isClient) {
      this.#wait(inputId, found.shown.id, false)
      return []
    }
    // The call itself stands in no log of this run, such as that of a remote agent's client tool.
    const { type: _, ...request } = part
    const asked = {
      ...request,
      type: 'tool.call',
      toolCallId: inputId,
      toolName,
      args,
      runsAt: 'client'
    } as const
    const { call, isFirst } = this.#calls.add(asked)!
    this.#wait(inputId, call.shown.id, true)
    return this.#whole(asked, call.shown, isFirst)
  }

  #wait(inputId: string, id: string, isAlone: boolean): void {
    this.#asked.set(id, inputId)
    this.#pending.set(inputId, { id, isAlone })
  }

  #answered({ inputId, action, content }: PartOf<'input.response'>): AgUiEvent[] {
    const asked = this.#pending.get(inputId)
    this.#pending.delete(inputId)
    // Else the outcome of the call follows.
    if (asked === undefined || !asked.isAlone || this.#known.has(asked.id)) return []
    if (action === 'accept') return [resultOf(asked.id, this.#tag, { content: toContent(content) })]
    const message = action === 'decline' ? 'Declined' : 'Canceled'
    return [resultOf(asked.id, this.#tag, { content: message, error: { code: action, message } })]
  }
}

function ended(calls: readonly RunCall<ThreadCall>[]): AgUiEvent[] {
  return calls.map(({ shown: { id, tag } }) => ({ type: 'TOOL_CALL_END', toolCallId: id, ...tag }))
}

/** A part with all arguments of its call. */
type WholePart = NumberedPart & (PartOf<'tool.call'> | PartOf<'tool.approval.request'>)

interface Outcome {
  readonly content: string
  readonly error?: { code: string; message: string }
  readonly args?: unknown
  readonly isVoid?: true
}

function resultOf(id: string, tag: Tag, outcome: Outcome): AgUiEvent {
  const { content, error, args, isVoid } = outcome
  const metadata = {
    ...(error !== undefined && { error: { code: error.code, message: error.message } }),
    ...(args !== undefined && { args }),
    ...(isVoid && { void: true })
  }
  return {
    type: 'TOOL_CALL_RESULT',
    messageId: `${id}-result`,
    toolCallId: id,
    content,
    role: 'tool',
    ...tag,
    ...(Object.keys(metadata).length > 0 && { metadata })
  }
}

function toContent(result: unknown): string {
  return typeof result === 'string' ? result : JSON.stringify(result ?? null)
}

function isSameJson(text: string, json: string): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === json
  } catch {
    return false
  }
}
