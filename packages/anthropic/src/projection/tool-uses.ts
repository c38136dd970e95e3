import {
  RunCalls,
  type CallPart,
  type InputKind,
  type PartOf,
  type RunCall,
  type ToolPart
} from '@svc/contract'
import { toBlocks } from '../wire/blocks.ts'
import type { SessionEvent } from '../wire/events.ts'
import { textOfError, textOfValue } from './outcomes.ts'

/** What a call has among the events. */
interface ShownUse {
  readonly id: string
  args: unknown
  /** True once its event is there. */
  isShown: boolean
  /** The input that its client answers. */
  inputId: string | undefined
}

/** What a run has asked for. */
export interface Asked {
  readonly inputId: string
  readonly kind: InputKind
  /** The event that asks: answers name it. */
  readonly eventId: string
}

/** The tool as which a run asks what no tool of the client answers. */
const ASKING = { question: 'ask_user', auth: 'authenticate' } as const

/** Makes ids and times of events. */
export interface EventMaker {
  idAt(seq: number, what?: string): string
  /** The id of the event that answers an input. */
  idOfAnswer(inputId: string): string
  timeOf(at: number): string
}

/**
 * The tool calls of a run, and what it asks, as events. A call that may wait for an approval has its event when it is known whether it does.
 * Answers of the user are events too, whichever wire they came from.
 */
export class ToolUses {
  readonly #make: EventMaker
  readonly #calls: RunCalls<ShownUse>
  // By the ids of the inputs.
  readonly #asked = new Map<string, Asked>()

  constructor(make: EventMaker) {
    this.#make = make
    this.#calls = new RunCalls((part) => this.#show(part))
  }

  /** What the run has asked for, answered or not, by the ids of the inputs. */
  get asked(): ReadonlyMap<string, Asked> {
    return this.#asked
  }

  add(part: ToolPart): SessionEvent[] {
    switch (part.type) {
      case 'input.request':
        return this.#ask(part)
      case 'input.response':
        return this.#answer(part)
      case 'tool.approval.request':
        return this.#askApproval(part)
      case 'tool.approval.response':
        return this.#answerApproval(part)
      default:
    }
    const { call, isWhole = false } = this.#calls.add(part) ?? {}
    if (call === undefined) return []
    if (part.type === 'tool.call' && isWhole) {
      call.shown.args = part.args
      return part.mayAsk === true ? [] : this.#use(call, part.at, 'allow')
    }
    return part.type === 'tool.result' || part.type === 'tool.error' ? this.#end(call, part) : []
  }

  begin(part: PartOf<'step.start'>): void {
    this.#calls.begin(part)
  }

  finish(part: PartOf<'finish'>): void {
    this.#calls.finish(part)
  }

  #show({ seq }: CallPart): ShownUse {
    return { id: this.#make.idAt(seq, 'use'), args: undefined, isShown: false, inputId: undefined }
  }

  #use({ shown, toolName: name, isClient }: Call, at: number, permission: 'allow' | 'ask'): SessionEvent[] {
    if (shown.isShown) return []
    shown.isShown = true
    const { id } = shown
    const use = { id, name, input: toInput(shown.args), processed_at: this.#make.timeOf(at) }
    return isClient
      ? [{ type: 'agent.custom_tool_use', ...use }]
      : [{ type: 'agent.tool_use', ...use, evaluated_permission: permission }]
  }

  #end(call: Call, part: ToolPart & PartOf<'tool.result' | 'tool.error'>): SessionEvent[] {
    const { shown, isClient } = call
    const text = part.type === 'tool.result' ? textOfValue(part.result) : textOfError(part.error)
    const outcome = { content: toBlocks(text), is_error: part.type === 'tool.error' }
    const processed_at = this.#make.timeOf(part.at)
    const uses = this.#use(call, part.at, 'allow')
    if (!isClient) {
      const id = this.#make.idAt(part.seq)
      return [...uses, { id, type: 'agent.tool_result', tool_use_id: shown.id, ...outcome, processed_at }]
    }
    const id = shown.inputId === undefined ? this.#make.idAt(part.seq) : this.#make.idOfAnswer(shown.inputId)
    const result = { id, custom_tool_use_id: shown.id, ...outcome, processed_at }
    return [...uses, { type: 'user.custom_tool_result', ...result }]
  }

  #askApproval(part: ToolPart & PartOf<'tool.approval.request'>): SessionEvent[] {
    const { call, isFirst } = this.#calls.add(part)!
    // The call of a remote agent stands in its own run.
    if (isFirst) call.shown.args = part.args
    this.#asked.set(part.approvalId, { inputId: part.approvalId, kind: 'approval', eventId: call.shown.id })
    return this.#use(call, part.at, 'ask')
  }

  #answerApproval(part: ToolPart & PartOf<'tool.approval.response'>): SessionEvent[] {
    this.#calls.add(part)
    const asked = this.#asked.get(part.approvalId)
    if (asked === undefined) return []
    return [
      {
        id: this.#make.idOfAnswer(part.approvalId),
        type: 'user.tool_confirmation',
        tool_use_id: asked.eventId,
        result: part.approved ? 'allow' : 'deny',
        ...(part.reason !== undefined && !part.approved && { deny_message: part.reason }),
        processed_at: this.#make.timeOf(part.at)
      }
    ]
  }

  #ask(part: ToolPart & PartOf<'input.request'>): SessionEvent[] {
    const { inputId, kind, toolCallId, source, seq, at } = part
    const call = toolCallId === undefined ? undefined : this.#calls.find({ toolCallId, source })
    if (kind === 'tool' && call?.isClient) {
      call.shown.inputId = inputId
      this.#asked.set(inputId, { inputId, kind, eventId: call.shown.id })
      return this.#use(call, at, 'allow')
    }
    const id = this.#make.idAt(seq, 'use')
    this.#asked.set(inputId, { inputId, kind, eventId: id })
    const { message, schema, expiresAt, toolName = '', args } = part
    const name = kind === 'tool' ? toolName : ASKING[kind]
    const input = kind === 'tool' ? toInput(args) : { message, schema, expires_at: expiresAt }
    return [{ type: 'agent.custom_tool_use', id, name, input, processed_at: this.#make.timeOf(at) }]
  }

  // The answer of a tool is in its result.
  #answer({ inputId, action, content, at }: ToolPart & PartOf<'input.response'>): SessionEvent[] {
    const asked = this.#asked.get(inputId)
    if (asked === undefined || asked.kind === 'tool') return []
    return [
      {
        id: this.#make.idOfAnswer(inputId),
        type: 'user.custom_tool_result',
        custom_tool_use_id: asked.eventId,
        ...(content !== undefined && { content: toBlocks(textOfValue(content)) }),
        is_error: action !== 'accept',
        processed_at: this.#make.timeOf(at)
      }
    ]
  }
}

type Call = RunCall<ShownUse>

function toInput(args: unknown): Record<string, unknown> {
  const isObject = typeof args === 'object' && args !== null && !Array.isArray(args)
  return isObject ? (args as Record<string, unknown>) : args === undefined ? {} : { value: args }
}
