import type { NumberedPart, PartOf } from '@svc/contract'
import type { ToolCallsShown } from '../options.ts'
import type { ItemEvent } from '../wire/response-events.ts'
import type { McpCallItem } from '../wire/response-items.ts'
import type { OpenCall, OutputItems } from './output-items.ts'

type Outcome = NumberedPart & (PartOf<'tool.result'> | PartOf<'tool.error'>)

/** A call of a tool that the service executes. */
export class ServedCall {
  readonly name: string
  readonly source: readonly string[]
  /** JSON; empty while the model writes them. */
  arguments = ''
  /** The approval that it waits for, or waited for. */
  approvalId: string | null = null
  /** Its item, while that is under way in the present response. */
  open: OpenCall<McpCallItem> | undefined
  /** True while it may wait for an approval: it has no item then. */
  isHeld: boolean

  constructor({ toolName, source = [], mayAsk }: PartOf<'tool.call'> | PartOf<'tool.call.delta'>) {
    this.name = toolName
    this.source = source
    this.isHeld = mayAsk === true
  }
}

/**
 * The calls that the service executes, as `mcp_call` items: each has the call and its outcome, and stands in the response in which the call
 * ends. An item that is under way where the run waits is done as incomplete and not in that response; the next one begins another for the
 * same call, with all of it.
 */
export class ServedCalls {
  readonly #runId: string
  readonly #label: string
  readonly #isShown: boolean
  readonly #open = new Set<ServedCall>()

  constructor(runId: string, label: string, shown: ToolCallsShown) {
    this.#runId = runId
    this.#label = label
    this.#isShown = shown === 'mcp_call'
  }

  /** Begins the item of a call. */
  begin(call: ServedCall, seq: number, items: OutputItems): ItemEvent[] {
    if (!this.#isShown || call.isHeld) return []
    const item: McpCallItem = {
      type: 'mcp_call',
      id: `mcp_${this.#runId}_${seq}`,
      status: 'in_progress',
      approval_request_id: call.approvalId,
      server_label: this.#label,
      name: call.name,
      arguments: '',
      output: null,
      error: null
    }
    const [open, events] = items.beginCall(item, call.source)
    call.open = open
    this.#open.add(call)
    return events
  }

  /** Adds to the arguments. */
  extend({ open }: ServedCall, delta: string, items: OutputItems): ItemEvent[] {
    return open === undefined ? [] : [items.extendCall(open, delta)]
  }

  /** The arguments are complete. */
  called(call: ServedCall, seq: number, json: string, items: OutputItems): ItemEvent[] {
    call.arguments = json
    const isBegun = call.open !== undefined
    const events = isBegun ? [] : this.begin(call, seq, items)
    if (call.open === undefined) return events
    if (!isBegun) events.push(items.extendCall(call.open, json))
    return [...events, items.endArguments(call.open, json)]
  }

  /** The call waits for an approval, which may change its arguments: its item begins after it. */
  waits(call: ServedCall, approvalId: string, items: OutputItems): ItemEvent[] {
    call.approvalId = approvalId
    return this.drop(call, items)
  }

  /** The approval of a call is answered; one that is denied ends at once. */
  approved(
    call: ServedCall,
    { approved, args, seq }: NumberedPart & PartOf<'tool.approval.response'>,
    items: OutputItems
  ): ItemEvent[] {
    call.isHeld = false
    const json = args === undefined ? call.arguments : JSON.stringify(args)
    return approved && call.open === undefined ? this.called(call, seq, json, items) : []
  }

  /** The call has an outcome. */
  end(call: ServedCall, part: Outcome, items: OutputItems): ItemEvent[] {
    call.isHeld = false
    const events = call.open === undefined ? this.called(call, part.seq, call.arguments, items) : []
    const { open } = call
    if (open === undefined) return events
    this.#forget(call)
    const end: Partial<McpCallItem> =
      part.type === 'tool.result'
        ? { status: 'completed', output: toOutput(part.result) }
        : { status: 'failed', error: `${part.error.code}: ${part.error.message}` }
    return [...events, ...items.endCall(open, end)]
  }

  /** Ends a call under way, as incomplete. */
  cut(call: ServedCall, items: OutputItems): ItemEvent[] {
    const { open } = call
    if (open === undefined) return []
    this.#forget(call)
    const done = call.arguments === '' ? [items.endArguments(open, open.item.arguments)] : []
    return [...done, ...items.endCall(open, { status: 'incomplete' })]
  }

  /** Ends calls under way, as incomplete. */
  cutAll(items: OutputItems, isMeant: (call: ServedCall) => boolean = () => true): ItemEvent[] {
    return [...this.#open].filter(isMeant).flatMap((call) => this.cut(call, items))
  }

  /** Takes the item of a call under way out of the response. */
  drop(call: ServedCall, items: OutputItems): ItemEvent[] {
    if (call.open !== undefined) items.dropCall(call.open)
    return this.cut(call, items)
  }

  /** Takes all items of calls under way out of the response. */
  dropAll(items: OutputItems): ItemEvent[] {
    return [...this.#open].flatMap((call) => this.drop(call, items))
  }

  #forget(call: ServedCall): void {
    this.#open.delete(call)
    call.open = undefined
  }
}

function toOutput(result: unknown): string {
  return typeof result === 'string' ? result : JSON.stringify(result ?? null)
}
