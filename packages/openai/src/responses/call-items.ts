import { RunCalls, type CallPart, type PartOf, type RunCall, type ToolPart } from '@svc/contract'
import type { ToolCallsShown } from '../options.ts'
import type { ItemEvent } from '../wire/response-events.ts'
import type { FunctionCallItem, McpCallItem } from '../wire/response-items.ts'
import type { OpenCall, OutputItems } from './output-items.ts'

/** What a call has in responses. */
interface ShownCall {
  /** For a call of a tool of the client. */
  callId: string | undefined
  /** JSON; empty while the model writes them. */
  arguments: string
  /** The approval that it waits for, or waited for. */
  approvalId: string | null
  /** True while it may wait for an approval: it has no item then. */
  isHeld: boolean
  /** Its item, while that is under way in the present response. */
  open: OpenCall | undefined
}

type Call = RunCall<ShownCall>

/** The call as which a run asks what no tool of the client answers. */
const ASKING = { question: 'question', auth: 'auth' } as const

/**
 * The tool calls of a run as items: those of the client's tools as `function_call`, those that the service executes as `mcp_call`. The
 * ids of the client's calls are those of the log, with a number where one is used again: providers reuse them, and members share them.
 * A `mcp_call` has the call and its outcome, and stands in the response in which the call ends: an item that is under way where the run
 * waits is done as incomplete and not in that response; the next one begins another for the same call, with all of it.
 */
export class CallItems {
  readonly #runId: string
  readonly #label: string
  readonly #isShown: boolean
  readonly #items: OutputItems
  readonly #calls = new RunCalls((part) => this.#show(part))
  // Those with an item under way.
  readonly #open = new Set<Call>()
  readonly #uses = new Map<string, number>()
  // What the run waits for: the inputs by the ids of their calls, and the ids of approvals.
  readonly #asked = new Map<string, string>()
  readonly #approvals = new Set<string>()

  constructor(runId: string, serverLabel: string, shown: ToolCallsShown, items: OutputItems) {
    this.#runId = runId
    this.#label = serverLabel
    this.#isShown = shown === 'mcp_call'
    this.#items = items
  }

  /** The inputs that a `function_call_output` answers, by its `call_id`. */
  get asked(): ReadonlyMap<string, string> {
    return this.#asked
  }

  /** The approvals that a `mcp_approval_response` answers. */
  get approvals(): ReadonlySet<string> {
    return this.#approvals
  }

  /** The `call_id` of a call of a tool of the client; undefined for any other. */
  clientCallId(part: PartOf<'tool.result' | 'tool.error'>): string | undefined {
    return this.#calls.find(part)?.shown.callId
  }

  add(part: ToolPart): ItemEvent[] {
    if (part.type === 'input.request') return this.#ask(part)
    if (part.type === 'input.response') {
      for (const [callId, inputId] of this.#asked) if (inputId === part.inputId) this.#asked.delete(callId)
      return []
    }
    if (part.type === 'tool.approval.request') return this.#askApproval(part)
    if (part.type === 'tool.approval.response') this.#approvals.delete(part.approvalId)
    const { call, isFirst = false } = this.#calls.add(part) ?? {}
    if (call === undefined) return []
    const { shown } = call
    switch (part.type) {
      case 'tool.call.delta':
        return [...(isFirst ? this.#begin(call, part.seq) : []), ...this.#extend(shown, part.delta)]
      case 'tool.call':
        return this.#call(call, part)
      case 'tool.approval.response': {
        shown.isHeld = false
        const json = part.args === undefined ? shown.arguments : JSON.stringify(part.args)
        const begins = !call.isClient && part.approved && shown.open === undefined
        return begins ? this.#whole(call, part.seq, json) : []
      }
      default:
        // The output of a client's tool is in its request.
        return call.isClient ? [] : this.#end(call, part)
    }
  }

  /** A step begins; if it is repeated, what its earlier attempt left under way is incomplete. */
  begin(part: PartOf<'step.start'>): ItemEvent[] {
    const events = part.attempt > 1 ? this.#cutWritten(part.source) : []
    const isVoid = new Set(this.#calls.begin(part))
    return [
      ...events,
      ...[...this.#open].filter((call) => isVoid.has(call)).flatMap((call) => this.#cut(call))
    ]
  }

  finish(part: PartOf<'finish'>): void {
    this.#calls.finish(part)
  }

  /** The run has ended: calls under way are incomplete. */
  end(): ItemEvent[] {
    return [...this.#cutWritten(), ...[...this.#open].flatMap((call) => this.#cut(call))]
  }

  /** The run waits: the next response has the calls under way. */
  pause(): ItemEvent[] {
    return [...this.#cutWritten(), ...[...this.#open].flatMap((call) => this.#drop(call))]
  }

  // Ends the calls whose arguments are under way in a place and within it.
  #cutWritten(place: readonly string[] = []): ItemEvent[] {
    const isMeant = ({ source }: Call) => place.every((name, index) => source[index] === name)
    return this.#calls.dropWritten(isMeant).flatMap((call) => this.#cut(call))
  }

  #show({ toolCallId, ...part }: CallPart): ShownCall {
    const callId = 'runsAt' in part && part.runsAt === 'client' ? this.#newId(toolCallId) : undefined
    const isHeld = 'mayAsk' in part && part.mayAsk
    return { callId, arguments: '', approvalId: null, isHeld, open: undefined }
  }

  #call(call: Call, { toolCallId, args, seq }: ToolPart & PartOf<'tool.call'>): ItemEvent[] {
    const { shown, isClient } = call
    // What its increments were taken for was not known to be the client's.
    const dropped = isClient && shown.callId === undefined ? this.#drop(call) : []
    if (isClient) shown.callId ??= this.#newId(toolCallId)
    const events = [...dropped, ...this.#whole(call, seq, toArguments(args))]
    return isClient ? [...events, ...this.#close(call, { status: 'completed' })] : events
  }

  // Begins the item of a call, if it has one now.
  #begin(call: Call, seq: number): ItemEvent[] {
    const { shown, toolName: name, source } = call
    const { callId, approvalId } = shown
    if (callId === undefined && (!this.#isShown || shown.isHeld)) return []
    const item: FunctionCallItem | McpCallItem =
      callId !== undefined
        ? this.#toFunction(seq, callId, name)
        : {
            type: 'mcp_call',
            id: `mcp_${this.#runId}_${seq}`,
            status: 'in_progress',
            approval_request_id: approvalId,
            server_label: this.#label,
            name,
            arguments: '',
            output: null,
            error: null
          }
    const [open, events] = this.#items.beginCall(item, source)
    shown.open = open
    this.#open.add(call)
    return events
  }

  #extend({ open }: ShownCall, delta: string): ItemEvent[] {
    return open === undefined ? [] : [this.#items.extendCall(open, delta)]
  }

  // The arguments are complete.
  #whole(call: Call, seq: number, json: string): ItemEvent[] {
    const { shown } = call
    shown.arguments = json
    const isBegun = shown.open !== undefined
    const events = isBegun ? [] : [...this.#begin(call, seq), ...this.#extend(shown, json)]
    return shown.open === undefined ? events : [...events, this.#items.endArguments(shown.open, json)]
  }

  #end(call: Call, part: ToolPart & PartOf<'tool.result' | 'tool.error'>): ItemEvent[] {
    const { shown } = call
    shown.isHeld = false
    const events = shown.open === undefined ? this.#whole(call, part.seq, shown.arguments) : []
    const end: Partial<McpCallItem> =
      part.type === 'tool.result'
        ? { status: 'completed', output: toOutput(part.result) }
        : { status: 'failed', error: `${part.error.code}: ${part.error.message}` }
    return [...events, ...this.#close(call, end)]
  }

  #close(call: Call, end: Partial<FunctionCallItem> | Partial<McpCallItem>): ItemEvent[] {
    const { open } = call.shown
    if (open === undefined) return []
    this.#open.delete(call)
    call.shown.open = undefined
    return this.#items.endCall(open, end)
  }

  // Ends a call under way, as incomplete.
  #cut(call: Call): ItemEvent[] {
    const { open, arguments: json } = call.shown
    if (open === undefined) return []
    const done = json === '' ? [this.#items.endArguments(open, open.item.arguments)] : []
    return [...done, ...this.#close(call, { status: 'incomplete' })]
  }

  // Takes the item of a call under way out of the response.
  #drop(call: Call): ItemEvent[] {
    if (call.shown.open !== undefined) this.#items.drop(call.shown.open.item)
    return this.#cut(call)
  }

  #askApproval(part: ToolPart & PartOf<'tool.approval.request'>): ItemEvent[] {
    const { approvalId: id, toolName: name, args, source } = part
    this.#approvals.add(id)
    // The call of a remote agent stands in its own run.
    const call = this.#calls.find(part) && this.#calls.add(part)!.call
    // An approval may change the arguments: the item of the call begins after it.
    const dropped = call === undefined || call.isClient ? [] : this.#drop(call)
    if (call !== undefined) call.shown.approvalId = id
    const request = { id, server_label: this.#label, name, arguments: toArguments(args) }
    return [...dropped, ...this.#items.add({ type: 'mcp_approval_request', ...request }, source)]
  }

  #ask(part: ToolPart & PartOf<'input.request'>): ItemEvent[] {
    const { inputId, kind, toolCallId, toolName = '', source, args, message, schema, expiresAt, seq } = part
    const call = toolCallId === undefined ? undefined : this.#calls.find({ toolCallId, source })
    if (kind === 'tool' && call?.isClient) {
      this.#asked.set(call.shown.callId!, inputId)
      return []
    }
    this.#asked.set(inputId, inputId)
    const item = this.#toFunction(seq, inputId, kind === 'tool' ? toolName : ASKING[kind])
    const json = toArguments(kind === 'tool' ? args : { message, schema, expires_at: expiresAt })
    const [open, events] = this.#items.beginCall(item, source)
    const done = [this.#items.extendCall(open, json), this.#items.endArguments(open, json)]
    return [...events, ...done, ...this.#items.endCall(open, { status: 'completed' })]
  }

  #toFunction(seq: number, callId: string, name: string): FunctionCallItem {
    const id = `fc_${this.#runId}_${seq}`
    return { type: 'function_call', id, status: 'in_progress', call_id: callId, name, arguments: '' }
  }

  #newId(toolCallId: string): string {
    const uses = (this.#uses.get(toolCallId) ?? 0) + 1
    this.#uses.set(toolCallId, uses)
    return uses === 1 ? toolCallId : `${toolCallId}#${uses}`
  }
}

function toArguments(args: unknown): string {
  return JSON.stringify(args ?? {})
}

function toOutput(result: unknown): string {
  return typeof result === 'string' ? result : JSON.stringify(result ?? null)
}
