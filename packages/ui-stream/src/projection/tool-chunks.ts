import { ToolCallList, type PartOf, type ToolPart } from '@svc/contract'
import type { UiChunk } from '../wire/chunks.ts'

/** A tool call as the message shows it. */
interface ShownCall {
  readonly id: string
  readonly toolName: string
  readonly isClient: boolean
  readonly source: readonly string[] | undefined
  isOpen: boolean
  isDenied: boolean
}

/** What the client answers by the output of a tool: the id of the input. */
type AskedTool = { readonly inputId: string; readonly id: string; call?: ShownCall | undefined }

/** Names of the tools that stand for what a run asks, beside those of the client. */
const ASKING = { question: 'question', auth: 'auth' } as const

/**
 * The tool calls of a message. Each has an id of its own: that of the log, after the path of its member, and with a number if it is used
 * again. Tools of the client, and questions, are shown as tools whose output the client gives; all others as executed by the provider,
 * so that a client neither serves nor waits for them.
 */
export class ToolChunks {
  readonly #calls = new ToolCallList<ShownCall>()
  // Calls whose arguments are under way, by place and id.
  readonly #begun = new Map<string, { id: string; source: readonly string[] | undefined }>()
  readonly #uses = new Map<string, number>()
  readonly #approvals = new Map<string, ShownCall>()
  readonly #asked = new Map<string, AskedTool>()

  /** The inputs that the output of a tool answers, by the id of the tool call in the message. */
  get asked(): ReadonlyMap<string, string> {
    return new Map(Array.from(this.#asked.values(), ({ id, inputId }) => [id, inputId]))
  }

  add(part: ToolPart): UiChunk[] {
    switch (part.type) {
      case 'tool.call.delta':
        return this.#delta(part)
      case 'tool.call':
        return this.#call(part)
      case 'tool.result':
        return this.#end(part, ({ id: toolCallId, isClient }) => ({
          type: 'tool-output-available',
          toolCallId,
          output: part.result ?? null,
          ...(!isClient && { providerExecuted: true as const })
        }))
      case 'tool.error':
        return this.#end(part, (call) =>
          call.isDenied
            ? { type: 'tool-output-denied', toolCallId: call.id }
            : failed(call, part.error.message)
        )
      case 'tool.approval.request':
        return this.#approval(part)
      case 'tool.approval.response':
        return this.#approved(part)
      case 'input.request':
        return this.#ask(part)
      case 'input.response':
        return this.#answered(part)
      default:
        return []
    }
  }

  /**
   * A step begins. If it is repeated, closes the open calls of its void attempt, unless they are the message's own, which the reset of
   * its step removes.
   */
  begin(part: PartOf<'step.start'>): UiChunk[] {
    const { source, attempt } = part
    if (attempt <= 1) {
      this.#calls.begin(part)
      return []
    }
    const before = this.#calls.values
    this.#calls.begin(part)
    const begun = this.#dropBegun(source)
    if (!source?.length) return []
    const valid = new Set(this.#calls.values)
    const isVoid = before.filter((call) => !valid.has(call))
    const toolCallIds = [...isVoid.map(({ id }) => id), ...begun]
    if (toolCallIds.length === 0) return []
    const open = [...isVoid.filter(({ isOpen }) => isOpen), ...begun.map((id) => ({ id, isClient: true }))]
    return [
      ...open.map((call) => failed(call, 'The step is repeated')),
      { type: 'data-void', data: { source, toolCallIds } }
    ]
  }

  /** A member or a step has ended, so that its next execution voids nothing of this one. */
  finish(part: PartOf<'finish'>): void {
    this.#calls.finish(part)
  }

  #delta({ toolCallId, toolName, source, parentToolCallId, delta }: PartOf<'tool.call.delta'>): UiChunk[] {
    const key = keyOf(toolCallId, source)
    const begun = this.#begun.get(key)
    if (begun !== undefined)
      return [{ type: 'tool-input-delta', toolCallId: begun.id, inputTextDelta: delta }]
    const id = this.#newId(toolCallId, source)
    this.#begun.set(key, { id, source })
    return [
      { type: 'tool-input-start', toolCallId: id, toolName, ...this.#about(source, parentToolCallId) },
      { type: 'tool-input-delta', toolCallId: id, inputTextDelta: delta }
    ]
  }

  #call(part: PartOf<'tool.call'>): UiChunk[] {
    return [this.#show(part).chunk]
  }

  #show(part: PartOf<'tool.call'>) {
    const { toolCallId, toolName, source, args, runsAt } = part
    const key = keyOf(toolCallId, source)
    const id = this.#begun.get(key)?.id ?? this.#newId(toolCallId, source)
    this.#begun.delete(key)
    const isClient = runsAt === 'client'
    const call: ShownCall = { id, toolName, isClient, source, isOpen: true, isDenied: false }
    this.#calls.add(part, call)
    return { call, chunk: available(call, args, this.#about(source, part.parentToolCallId)) }
  }

  #end(part: PartOf<'tool.result'> | PartOf<'tool.error'>, toChunk: (call: ShownCall) => UiChunk): UiChunk[] {
    const call = this.#calls.find(part)
    if (call === undefined) return []
    call.isOpen = false
    return [toChunk(call)]
  }

  #approval(part: PartOf<'tool.approval.request'>): UiChunk[] {
    const { approvalId, expiresAt } = part
    const known = this.#calls.find(part)
    const shown = known === undefined ? this.#show({ ...part, type: 'tool.call' }) : undefined
    const call = known ?? shown!.call
    this.#approvals.set(approvalId, call)
    const request: UiChunk = {
      type: 'tool-approval-request',
      approvalId,
      toolCallId: call.id,
      approvalDescriptor: { expiresAt }
    }
    return shown === undefined ? [request] : [shown.chunk, request]
  }

  #approved({ approvalId, approved, reason, args }: PartOf<'tool.approval.response'>): UiChunk[] {
    const call = this.#approvals.get(approvalId)
    if (call === undefined) return []
    this.#approvals.delete(approvalId)
    call.isDenied = !approved
    const response: UiChunk = {
      type: 'tool-approval-response',
      approvalId,
      approved,
      ...(reason !== undefined && { reason })
    }
    return args === undefined ? [response] : [available(call, args, about(call.source)), response]
  }

  #ask(part: PartOf<'input.request'>): UiChunk[] {
    const { inputId, kind, toolCallId, toolName = '', args, source, message, schema, expiresAt } = part
    const call = toolCallId === undefined ? undefined : this.#calls.find({ toolCallId, source })
    if (kind === 'tool' && call?.isClient && call.toolName === toolName) {
      this.#asked.set(inputId, { inputId, id: call.id, call })
      return []
    }
    this.#asked.set(inputId, { inputId, id: inputId })
    const details = about(source, call?.id)
    if (kind === 'tool')
      return [
        { type: 'tool-input-available', toolCallId: inputId, toolName, input: args ?? null, ...details }
      ]
    const input = {
      ...(message !== undefined && { message }),
      ...(schema !== undefined && { schema }),
      expiresAt
    }
    const asked = { toolCallId: inputId, toolName: ASKING[kind], dynamic: true as const, input }
    return [{ type: 'tool-input-available', ...asked, ...details }]
  }

  #answered({ inputId, action, content }: PartOf<'input.response'>): UiChunk[] {
    const asked = this.#asked.get(inputId)
    this.#asked.delete(inputId)
    // The outcome of the call itself follows.
    if (asked === undefined || asked.call !== undefined) return []
    const { id: toolCallId } = asked
    if (action === 'accept') return [{ type: 'tool-output-available', toolCallId, output: content ?? null }]
    const errorText = action === 'decline' ? 'Declined' : 'Canceled'
    return [{ type: 'tool-output-error', toolCallId, errorText }]
  }

  // A parent by its id in the message.
  #about(source: readonly string[] | undefined, parent: string | undefined) {
    const found = parent === undefined ? undefined : this.#calls.find({ toolCallId: parent, source })
    return about(source, found?.id ?? parent)
  }

  #newId(toolCallId: string, source: readonly string[] | undefined): string {
    const base = source?.length ? `${source.join('/')}/${toolCallId}` : toolCallId
    const uses = (this.#uses.get(base) ?? 0) + 1
    this.#uses.set(base, uses)
    return uses === 1 ? base : `${base}#${uses}`
  }

  #dropBegun(source: readonly string[] = []): string[] {
    const dropped: string[] = []
    for (const [key, begun] of this.#begun) {
      if (keyOf('', begun.source) !== keyOf('', source)) continue
      this.#begun.delete(key)
      dropped.push(begun.id)
    }
    return dropped
  }
}

function available({ id, toolName, isClient }: ShownCall, args: unknown, details: object): UiChunk {
  return {
    type: 'tool-input-available',
    toolCallId: id,
    toolName,
    input: args ?? null,
    ...(!isClient && { providerExecuted: true as const }),
    ...details
  }
}

function failed(
  { id: toolCallId, isClient }: Pick<ShownCall, 'id' | 'isClient'>,
  errorText: string
): UiChunk {
  return {
    type: 'tool-output-error',
    toolCallId,
    errorText,
    ...(!isClient && { providerExecuted: true as const })
  }
}

// Who called, unless it was the agent itself.
function about(source: readonly string[] | undefined, parentToolCallId?: string) {
  if (!source?.length && parentToolCallId === undefined) return {}
  const toolMetadata = {
    ...(source?.length && { source: [...source] }),
    ...(parentToolCallId !== undefined && { parentToolCallId })
  }
  return { toolMetadata }
}

function keyOf(toolCallId: string, source: readonly string[] = []): string {
  return [...source, toolCallId].join('\u0000')
}
