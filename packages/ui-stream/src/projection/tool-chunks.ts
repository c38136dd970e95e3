import { RunCalls, type CallPart, type PartOf, type RunCall, type ToolPart } from '@svc/contract'
import type { UiChunk } from '../wire/chunks.ts'

/** A tool call, shown by its id in the message. */
type ShownCall = RunCall<string>

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
  readonly #calls = new RunCalls((part) => this.#newId(part))
  readonly #uses = new Map<string, number>()
  readonly #asked = new Map<string, AskedTool>()

  /** The inputs that the output of a tool answers, by the id of the tool call in the message. */
  get asked(): ReadonlyMap<string, string> {
    return new Map(Array.from(this.#asked.values(), ({ id, inputId }) => [id, inputId]))
  }

  add(part: ToolPart): UiChunk[] {
    if (part.type === 'input.request') return this.#ask(part)
    if (part.type === 'input.response') return this.#answered(part)
    const { call, isFirst, isWhole } = this.#calls.add(part) ?? {}
    if (call === undefined) return []
    const { shown: toolCallId, isClient } = call
    switch (part.type) {
      case 'tool.call.delta': {
        const { toolName, source, parentToolCallId: parent, delta } = part
        const chunk: UiChunk = { type: 'tool-input-delta', toolCallId, inputTextDelta: delta }
        if (!isFirst) return [chunk]
        return [{ type: 'tool-input-start', toolCallId, toolName, ...this.#about(source, parent) }, chunk]
      }
      case 'tool.call':
        return [available(call, part.args, this.#about(part.source, part.parentToolCallId))]
      case 'tool.result': {
        const executed = !isClient && { providerExecuted: true as const }
        return [{ type: 'tool-output-available', toolCallId, output: part.result ?? null, ...executed }]
      }
      case 'tool.error':
        return [call.isDenied ? { type: 'tool-output-denied', toolCallId } : failed(call, part.error.message)]
      case 'tool.approval.request': {
        const { approvalId, expiresAt, args, source, parentToolCallId: parent } = part
        const approvalDescriptor = { expiresAt }
        const request: UiChunk = {
          type: 'tool-approval-request',
          approvalId,
          toolCallId,
          approvalDescriptor
        }
        return isWhole ? [available(call, args, this.#about(source, parent)), request] : [request]
      }
      default: {
        const { approvalId, approved, reason, args } = part
        const why = reason !== undefined && { reason }
        const response: UiChunk = { type: 'tool-approval-response', approvalId, approved, ...why }
        return args === undefined ? [response] : [available(call, args, about(call.source)), response]
      }
    }
  }

  /**
   * A step begins. If it is repeated, closes the open calls of its void attempt, unless they are the message's own, which the reset of
   * its step removes.
   */
  begin(part: PartOf<'step.start'>): UiChunk[] {
    const { source } = part
    const isVoid = this.#calls.begin(part)
    if (!source?.length || isVoid.length === 0) return []
    const open = isVoid.filter(({ state }) => state !== 'over')
    return [
      ...open.map((call) => failed(call, 'The step is repeated')),
      { type: 'data-void', data: { source, toolCallIds: isVoid.map(({ shown }) => shown) } }
    ]
  }

  /** A member or a step has ended, so that its next execution voids nothing of this one. */
  finish(part: PartOf<'finish'>): void {
    this.#calls.finish(part)
  }

  #ask(part: PartOf<'input.request'>): UiChunk[] {
    const { inputId, kind, toolCallId, toolName = '', args, source, message, schema, expiresAt } = part
    const call = toolCallId === undefined ? undefined : this.#calls.find({ toolCallId, source })
    if (kind === 'tool' && call?.isClient && call.toolName === toolName) {
      this.#asked.set(inputId, { inputId, id: call.shown, call })
      return []
    }
    this.#asked.set(inputId, { inputId, id: inputId })
    const details = about(source, call?.shown)
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
    return about(source, found?.shown ?? parent)
  }

  #newId({ toolCallId, source }: CallPart): string {
    const base = source?.length ? `${source.join('/')}/${toolCallId}` : toolCallId
    const uses = (this.#uses.get(base) ?? 0) + 1
    this.#uses.set(base, uses)
    return uses === 1 ? base : `${base}#${uses}`
  }
}

function available(
  { shown: toolCallId, toolName, isClient }: ShownCall,
  args: unknown,
  details: object
): UiChunk {
  return {
    type: 'tool-input-available',
    toolCallId,
    toolName,
    input: args ?? null,
    ...(!isClient && { providerExecuted: true as const }),
    ...details
  }
}

// What the model was still writing is not known to be executed here.
function failed({ shown: toolCallId, isClient, state }: ShownCall, errorText: string): UiChunk {
  const executed = !isClient && state !== 'written' && { providerExecuted: true as const }
  return { type: 'tool-output-error', toolCallId, errorText, ...executed }
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
