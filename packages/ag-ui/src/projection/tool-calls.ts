import { toolCallKey, ToolCallList, type NumberedPart, type PartOf, type ToolPart } from '@svc/contract'
import type { AgUiEvent, Tag } from '../wire/events.ts'
import type { Speech } from './speech.ts'

/** A tool call as the thread shows it. */
interface ShownCall {
  readonly id: string
  readonly tag: Tag
  readonly isClient: boolean
  isOpen: boolean
  // The arguments, if an approval changed them.
  edited?: unknown
}

/** A call whose arguments are under way. */
interface BegunCall {
  readonly id: string
  readonly source: readonly string[]
  readonly tag: Tag
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
  readonly #calls = new ToolCallList<ShownCall>()
  readonly #begun = new Map<string, BegunCall>()
  readonly #approvals = new Map<string, ShownCall>()
  readonly #asked = new Map<string, string>()
  // Calls of the client's tools that the run waits for, by the ids of their inputs.
  readonly #pending = new Map<string, ShownCall & { readonly isAlone: boolean }>()
  #runId = ''

  /** @param known calls of the client's tools whose results the client has already, since it made them */
  constructor(speech: Speech, known: ReadonlySet<string>) {
    this.#speech = speech
    this.#known = known
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
  idOf(call: { toolCallId: string; source?: string[] | undefined }): string | undefined {
    return this.#calls.find(call)?.id
  }

  add(part: ToolPart, tag: Tag): AgUiEvent[] {
    switch (part.type) {
      case 'tool.call.delta':
        return this.#delta(part, tag)
      case 'tool.call':
        return this.#show(part, tag, part.runsAt === 'client').events
      case 'tool.result':
        return this.#end(part, tag, { content: toContent(part.result) })
      case 'tool.error':
        return this.#end(part, tag, { content: part.error.message, error: part.error })
      case 'tool.approval.request':
        return this.#approval(part, tag)
      case 'tool.approval.response': {
        const call = this.#approvals.get(part.approvalId)
        if (call !== undefined && part.args !== undefined) call.edited = part.args
        this.#approvals.delete(part.approvalId)
        return []
      }
      case 'input.request':
        return part.kind === 'tool' ? this.#ask(part, tag) : []
      case 'input.response':
        return this.#answered(part, tag)
      default:
        return []
    }
  }

  /** A step begins; ends what is open of its earlier attempt, which is void, and returns the ids of all calls of it. */
  begin(part: PartOf<'step.start'>): { events: AgUiEvent[]; isVoid: string[] } {
    const { source = [], attempt } = part
    if (attempt <= 1) {
      this.#calls.begin(part)
      return { events: [], isVoid: [] }
    }
    const before = this.#calls.values
    this.#calls.begin(part)
    const valid = new Set(this.#calls.values)
    const calls = before.filter((call) => !valid.has(call))
    const begun = this.#dropBegun(source)
    const events = begun.map(({ id, tag }): AgUiEvent => ({ type: 'TOOL_CALL_END', toolCallId: id, ...tag }))
    for (const call of [...calls.filter(({ isOpen }) => isOpen), ...begun])
      events.push(resultOf(call, call.tag, { content: REPEATED, isVoid: true }))
    return { events, isVoid: [...calls, ...begun].map(({ id }) => id) }
  }

  /** A member has ended: its next call voids nothing of this one. */
  finish(part: PartOf<'finish'>): void {
    this.#calls.finish(part)
  }

  /** Ends the calls whose arguments are under way. */
  closeAll(): AgUiEvent[] {
    const begun = [...this.#begun.values()]
    this.#begun.clear()
    return begun.map(({ id, tag }) => ({ type: 'TOOL_CALL_END', toolCallId: id, ...tag }))
  }

  #delta(part: NumberedPart & PartOf<'tool.call.delta'>, tag: Tag): AgUiEvent[] {
    const { source = [], delta } = part
    const key = toolCallKey(part)
    const begun = this.#begun.get(key)
    if (begun !== undefined) {
      begun.text += delta
      return [{ type: 'TOOL_CALL_ARGS', toolCallId: begun.id, delta, ...tag }]
    }
    const id = this.#newId(part)
    this.#begun.set(key, { id, source, tag, text: delta })
    return [this.#start(part, id, tag), { type: 'TOOL_CALL_ARGS', toolCallId: id, delta, ...tag }]
  }

  #show(part: NumberedPart & Omit<PartOf<'tool.call'>, 'type'>, tag: Tag, isClient: boolean) {
    const key = toolCallKey(part)
    const begun = this.#begun.get(key)
    this.#begun.delete(key)
    const id = begun?.id ?? this.#newId(part)
    const call: ShownCall = { id, tag, isClient, isOpen: true }
    this.#calls.add({ ...part, type: 'tool.call' }, call)
    const args = JSON.stringify(part.args ?? {})
    const end: AgUiEvent = { type: 'TOOL_CALL_END', toolCallId: id, ...tag }
    if (begun === undefined) {
      const whole: AgUiEvent = { type: 'TOOL_CALL_ARGS', toolCallId: id, delta: args, ...tag }
      return { call, events: [this.#start(part, id, tag), whole, end] }
    }
    // What was sent cannot be taken back.
    const isSame = begun.text === args || isSameJson(begun.text, args)
    return { call, events: [isSame ? end : { ...end, metadata: { args: part.args ?? {} } }] }
  }

  #start(part: NumberedPart & { toolName: string }, toolCallId: string, tag: Tag): AgUiEvent {
    const { parentToolCallId: parent, source } = part as { parentToolCallId?: string; source?: string[] }
    const parentToolCallId = parent && (this.idOf({ toolCallId: parent, source }) ?? parent)
    return {
      type: 'TOOL_CALL_START',
      toolCallId,
      toolCallName: part.toolName,
      parentMessageId: this.#speech.messageOf(part, tag),
      ...tag,
      ...(parentToolCallId !== undefined && { metadata: { parentToolCallId } })
    }
  }

  #end(part: PartOf<'tool.result'> | PartOf<'tool.error'>, tag: Tag, outcome: Outcome): AgUiEvent[] {
    const call = this.#calls.find(part)
    if (call === undefined) return []
    call.isOpen = false
    if (call.isClient && this.#known.has(call.id)) return []
    return [resultOf(call, tag, call.edited === undefined ? outcome : { ...outcome, args: call.edited })]
  }

  #approval(part: NumberedPart & PartOf<'tool.approval.request'>, tag: Tag): AgUiEvent[] {
    const found = this.#calls.find(part)
    const { call, events } = found === undefined ? this.#show(part, tag, false) : { call: found, events: [] }
    this.#approvals.set(part.approvalId, call)
    return events
  }

  #ask(part: NumberedPart & PartOf<'input.request'>, tag: Tag): AgUiEvent[] {
    const { inputId, toolCallId = inputId, toolName = '', args, source } = part
    const found = this.#calls.find({ toolCallId, source })
    if (found?.isClient) {
      this.#wait(inputId, found, false)
      return []
    }
    // The call itself stands in no log of this run, such as that of a remote agent's client tool.
    const { call, events } = this.#show({ ...part, toolCallId: inputId, toolName, args }, tag, true)
    this.#wait(inputId, call, true)
    return events
  }

  #wait(inputId: string, call: ShownCall, isAlone: boolean): void {
    this.#asked.set(call.id, inputId)
    this.#pending.set(inputId, { ...call, isAlone })
  }

  #answered({ inputId, action, content }: PartOf<'input.response'>, tag: Tag): AgUiEvent[] {
    const asked = this.#pending.get(inputId)
    this.#pending.delete(inputId)
    // Else the outcome of the call follows.
    if (asked === undefined || !asked.isAlone || this.#known.has(asked.id)) return []
    if (action === 'accept') return [resultOf(asked, tag, { content: toContent(content) })]
    const message = action === 'decline' ? 'Declined' : 'Canceled'
    return [resultOf(asked, tag, { content: message, error: { code: action, message } })]
  }

  #newId({ seq }: NumberedPart): string {
    return `${this.#runId}-call-${seq}`
  }

  #dropBegun(source: readonly string[]): BegunCall[] {
    const dropped: BegunCall[] = []
    for (const [key, begun] of this.#begun) {
      const isWithin = source.every((name, index) => begun.source[index] === name)
      if (source.length === 0 ? begun.source.length > 0 : !isWithin) continue
      this.#begun.delete(key)
      dropped.push(begun)
    }
    return dropped
  }
}

interface Outcome {
  readonly content: string
  readonly error?: { code: string; message: string }
  readonly args?: unknown
  readonly isVoid?: true
}

function resultOf({ id }: { readonly id: string }, tag: Tag, outcome: Outcome): AgUiEvent {
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
