import type { PartOf } from '@svc/registry'
import { ToolCallList } from '@svc/registry/kit'
import type { ToolPart } from '@svc/registry/wire-kit'
import type { ItemEvent } from '../wire/response-events.ts'
import type { FunctionCallItem } from '../wire/response-items.ts'
import type { OpenCall, OutputItems } from './output-items.ts'

interface ShownCall {
  readonly callId: string
  readonly isClient: boolean
}

/** The call as which a run asks what no tool of the client answers. */
const ASKING = { question: 'question', auth: 'auth' } as const

/**
 * The tool calls of a run as items. The ids of calls are those of the log, with a number where one is used again: providers reuse them,
 * and members share them.
 */
export class CallItems {
  readonly #runId: string
  readonly #serverLabel: string
  readonly #calls = new ToolCallList<ShownCall>()
  // Calls whose arguments are under way, by place and id.
  readonly #begun = new Map<string, OpenCall & { readonly source: readonly string[] }>()
  readonly #uses = new Map<string, number>()
  // What the run waits for: the inputs by the ids of their calls, and the ids of approvals.
  readonly #asked = new Map<string, string>()
  readonly #approvals = new Set<string>()

  constructor(runId: string, serverLabel: string) {
    this.#runId = runId
    this.#serverLabel = serverLabel
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
    return call?.isClient === true ? call.callId : undefined
  }

  add(part: ToolPart, items: OutputItems): ItemEvent[] {
    switch (part.type) {
      case 'tool.call.delta':
        return this.#delta(part, items)
      case 'tool.call':
        return this.#call(part, items)
      case 'tool.result':
        return this.#end(part, toOutput(part.result), items)
      case 'tool.error':
        return this.#end(part, JSON.stringify({ error: part.error }), items)
      case 'tool.approval.request':
        this.#approvals.add(part.approvalId)
        return items.add(
          {
            type: 'mcp_approval_request',
            id: part.approvalId,
            server_label: this.#serverLabel,
            name: part.toolName,
            arguments: toArguments(part.args)
          },
          part.source
        )
      case 'tool.approval.response':
        this.#approvals.delete(part.approvalId)
        return []
      case 'input.request':
        return this.#ask(part, items)
      case 'input.response':
        for (const [callId, inputId] of this.#asked) if (inputId === part.inputId) this.#asked.delete(callId)
        return []
      default:
        return []
    }
  }

  /** A step begins: calls whose arguments an earlier attempt left are incomplete. */
  begin(part: PartOf<'step.start'>, items: OutputItems): ItemEvent[] {
    this.#calls.begin(part)
    return part.attempt > 1 ? this.endBegun(items, part.source) : []
  }

  finish(part: PartOf<'finish'>): void {
    this.#calls.finish(part)
  }

  /** Ends the calls whose arguments are under way in a place and within it, as incomplete. */
  endBegun(items: OutputItems, place: readonly string[] = []): ItemEvent[] {
    const events: ItemEvent[] = []
    for (const [key, call] of this.#begun) {
      if (!place.every((name, index) => call.source[index] === name)) continue
      this.#begun.delete(key)
      events.push(...items.endCall(call, call.item.arguments, 'incomplete'))
    }
    return events
  }

  #delta(part: ToolPart & PartOf<'tool.call.delta'>, items: OutputItems): ItemEvent[] {
    const { toolCallId, toolName, source, seq, delta } = part
    const key = keyOf(toolCallId, source)
    const begun = this.#begun.get(key)
    if (begun !== undefined) return [items.extendCall(begun, delta)]
    const [call, added] = items.beginCall(this.#toItem(seq, this.#newId(toolCallId), toolName), source)
    this.#begun.set(key, { ...call, source: source ?? [] })
    return [added, items.extendCall(call, delta)]
  }

  #call(part: ToolPart & PartOf<'tool.call'>, items: OutputItems): ItemEvent[] {
    const { toolCallId, toolName, source, seq, args, runsAt } = part
    const key = keyOf(toolCallId, source)
    const begun = this.#begun.get(key)
    this.#begun.delete(key)
    const json = toArguments(args)
    const isClient = runsAt === 'client'
    if (begun !== undefined) {
      this.#calls.add(part, { callId: begun.item.call_id, isClient })
      return items.endCall(begun, json, 'completed')
    }
    const callId = this.#newId(toolCallId)
    this.#calls.add(part, { callId, isClient })
    return this.#whole(this.#toItem(seq, callId, toolName), json, source, items)
  }

  #whole(item: FunctionCallItem, json: string, source: readonly string[] | undefined, items: OutputItems) {
    const [call, added] = items.beginCall(item, source)
    return [added, items.extendCall(call, json), ...items.endCall(call, json, 'completed')]
  }

  // The output of a client's tool is in its request.
  #end(
    part: ToolPart & PartOf<'tool.result' | 'tool.error'>,
    output: string,
    items: OutputItems
  ): ItemEvent[] {
    const call = this.#calls.find(part)
    if (call === undefined || call.isClient) return []
    const id = `fco_${this.#runId}_${part.seq}`
    const item = {
      type: 'function_call_output',
      id,
      status: 'completed',
      call_id: call.callId,
      output
    } as const
    return items.add(item, part.source)
  }

  #ask(part: ToolPart & PartOf<'input.request'>, items: OutputItems): ItemEvent[] {
    const { inputId, kind, toolCallId, toolName = '', source, args, message, schema, expiresAt, seq } = part
    const call = toolCallId === undefined ? undefined : this.#calls.find({ toolCallId, source })
    if (kind === 'tool' && call?.isClient) {
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

function toArguments(args: unknown): string {
  return JSON.stringify(args ?? {})
}

function toOutput(result: unknown): string {
  return typeof result === 'string' ? result : JSON.stringify(result ?? null)
}

function keyOf(toolCallId: string, source: readonly string[] = []): string {
  return [...source, toolCallId].join('\u0000')
}
