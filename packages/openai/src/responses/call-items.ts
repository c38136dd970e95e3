import { toolCallKey, ToolCallList, type PartOf, type ToolPart } from '@svc/contract'
import type { ToolCallsShown } from '../options.ts'
import type { ItemEvent } from '../wire/response-events.ts'
import type { FunctionCallItem } from '../wire/response-items.ts'
import type { OpenCall, OutputItems } from './output-items.ts'
import { ServedCall, ServedCalls } from './served-calls.ts'

/** A call of a tool of the client. */
interface ClientCall {
  readonly callId: string
}

/** A call whose arguments are under way. */
interface BegunCall {
  readonly call: ServedCall | OpenCall<FunctionCallItem>
  readonly source: readonly string[]
}

/** The call as which a run asks what no tool of the client answers. */
const ASKING = { question: 'question', auth: 'auth' } as const

/**
 * The tool calls of a run as items: those of the client's tools as `function_call`, those that the service executes as `mcp_call`. The
 * ids of the client's calls are those of the log, with a number where one is used again: providers reuse them, and members share them.
 */
export class CallItems {
  readonly #runId: string
  readonly #serverLabel: string
  readonly #calls = new ToolCallList<ServedCall | ClientCall>()
  readonly #served: ServedCalls
  // Calls whose arguments are under way, by place and id.
  readonly #begun = new Map<string, BegunCall>()
  readonly #uses = new Map<string, number>()
  // What the run waits for: the inputs by the ids of their calls, and the ids of approvals.
  readonly #asked = new Map<string, string>()
  readonly #approvals = new Set<string>()

  constructor(runId: string, serverLabel: string, shown: ToolCallsShown) {
    this.#runId = runId
    this.#serverLabel = serverLabel
    this.#served = new ServedCalls(runId, serverLabel, shown)
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
    const call = this.#calls.find(part)
    return call === undefined || call instanceof ServedCall ? undefined : call.callId
  }

  add(part: ToolPart, items: OutputItems): ItemEvent[] {
    switch (part.type) {
      case 'tool.call.delta':
        return this.#delta(part, items)
      case 'tool.call':
        return this.#call(part, items)
      case 'tool.result':
      case 'tool.error': {
        // The output of a client's tool is in its request.
        const call = this.#calls.find(part)
        return call instanceof ServedCall ? this.#served.end(call, part, items) : []
      }
      case 'tool.approval.request':
        return this.#askApproval(part, items)
      case 'tool.approval.response': {
        this.#approvals.delete(part.approvalId)
        const call = this.#calls.find(part)
        return call instanceof ServedCall ? this.#served.approved(call, part, items) : []
      }
      case 'input.request':
        return this.#ask(part, items)
      case 'input.response':
        for (const [callId, inputId] of this.#asked) if (inputId === part.inputId) this.#asked.delete(callId)
        return []
      default:
        return []
    }
  }

  /** A step begins; if it is repeated, what its earlier attempt left under way is incomplete. */
  begin(part: PartOf<'step.start'>, items: OutputItems): ItemEvent[] {
    const isVoid = new Set(part.attempt > 1 ? this.#calls.values : [])
    this.#calls.begin(part)
    if (part.attempt <= 1) return []
    for (const call of this.#calls.values) isVoid.delete(call)
    return [...this.#endBegun(items, part.source), ...this.#served.cutAll(items, (call) => isVoid.has(call))]
  }

  finish(part: PartOf<'finish'>): void {
    this.#calls.finish(part)
  }

  /** The run has ended: calls under way are incomplete. */
  end(items: OutputItems): ItemEvent[] {
    return [...this.#endBegun(items), ...this.#served.cutAll(items)]
  }

  /** The run waits: the next response has the calls under way. */
  pause(items: OutputItems): ItemEvent[] {
    return [...this.#endBegun(items), ...this.#served.dropAll(items)]
  }

  // Ends the calls whose arguments are under way in a place and within it.
  #endBegun(items: OutputItems, place: readonly string[] = []): ItemEvent[] {
    const events: ItemEvent[] = []
    for (const [key, { call, source }] of this.#begun) {
      if (!place.every((name, index) => source[index] === name)) continue
      this.#begun.delete(key)
      if (call instanceof ServedCall) events.push(...this.#served.cut(call, items))
      else events.push(...endFunction(call, call.item.arguments, 'incomplete', items))
    }
    return events
  }

  #delta(part: ToolPart & PartOf<'tool.call.delta'>, items: OutputItems): ItemEvent[] {
    const { toolCallId, toolName, source = [], seq, delta, runsAt } = part
    const key = toolCallKey(part)
    const begun = this.#begun.get(key)?.call
    if (begun instanceof ServedCall) return this.#served.extend(begun, delta, items)
    if (begun !== undefined) return [items.extendCall(begun, delta)]
    if (runsAt !== 'client') {
      const call = new ServedCall(part)
      this.#begun.set(key, { call, source })
      return [...this.#served.begin(call, seq, items), ...this.#served.extend(call, delta, items)]
    }
    const item = this.#toItem(seq, this.#newId(toolCallId), toolName)
    const [call, events] = items.beginCall(item, part.source)
    this.#begun.set(key, { call, source })
    return [...events, items.extendCall(call, delta)]
  }

  #call(part: ToolPart & PartOf<'tool.call'>, items: OutputItems): ItemEvent[] {
    const { toolCallId, toolName, source, seq, args, runsAt } = part
    const key = toolCallKey(part)
    const begun = this.#begun.get(key)?.call
    this.#begun.delete(key)
    const json = toArguments(args)
    if (runsAt !== 'client') {
      const call = begun instanceof ServedCall ? begun : new ServedCall(part)
      this.#calls.add(part, call)
      return this.#served.called(call, seq, json, items)
    }
    if (begun !== undefined && !(begun instanceof ServedCall)) {
      this.#calls.add(part, { callId: begun.item.call_id })
      return endFunction(begun, json, 'completed', items)
    }
    // What its increments were taken for was not known to be the client's.
    const dropped = begun === undefined ? [] : this.#served.drop(begun, items)
    const callId = this.#newId(toolCallId)
    this.#calls.add(part, { callId })
    return [...dropped, ...this.#whole(this.#toItem(seq, callId, toolName), json, source, items)]
  }

  #whole(item: FunctionCallItem, json: string, source: readonly string[] | undefined, items: OutputItems) {
    const [call, events] = items.beginCall(item, source)
    return [...events, items.extendCall(call, json), ...endFunction(call, json, 'completed', items)]
  }

  #askApproval(part: ToolPart & PartOf<'tool.approval.request'>, items: OutputItems): ItemEvent[] {
    const { approvalId: id, toolName: name, args, source } = part
    this.#approvals.add(id)
    const call = this.#calls.find(part)
    const dropped = call instanceof ServedCall ? this.#served.waits(call, id, items) : []
    const request = { id, server_label: this.#serverLabel, name, arguments: toArguments(args) }
    return [...dropped, ...items.add({ type: 'mcp_approval_request', ...request }, source)]
  }

  #ask(part: ToolPart & PartOf<'input.request'>, items: OutputItems): ItemEvent[] {
    const { inputId, kind, toolCallId, toolName = '', source, args, message, schema, expiresAt, seq } = part
    const call = toolCallId === undefined ? undefined : this.#calls.find({ toolCallId, source })
    if (kind === 'tool' && call !== undefined && !(call instanceof ServedCall)) {
      this.#asked.set(call.callId, inputId)
      return []
    }
    this.#asked.set(inputId, inputId)
    const name = kind === 'tool' ? toolName : ASKING[kind]
    const json = toArguments(kind === 'tool' ? args : { message, schema, expires_at: expiresAt })
    return this.#whole(this.#toItem(seq, inputId, name), json, source, items)
  }

  #toItem(seq: number, callId: string, name: string): FunctionCallItem {
    const id = `fc_${this.#runId}_${seq}`
    return { type: 'function_call', id, status: 'in_progress', call_id: callId, name, arguments: '' }
  }

  #newId(toolCallId: string): string {
    const uses = (this.#uses.get(toolCallId) ?? 0) + 1
    this.#uses.set(toolCallId, uses)
    return uses === 1 ? toolCallId : `${toolCallId}#${uses}`
  }
}

function endFunction(
  call: OpenCall<FunctionCallItem>,
  json: string,
  status: 'completed' | 'incomplete',
  items: OutputItems
): ItemEvent[] {
  return [items.endArguments(call, json), ...items.endCall(call, { status })]
}

function toArguments(args: unknown): string {
  return JSON.stringify(args ?? {})
}
