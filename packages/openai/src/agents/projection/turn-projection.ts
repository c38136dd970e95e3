import {
  isToolPart,
  RunCalls,
  RunSpeech,
  RunView,
  sourceKey,
  type CallPart,
  type NumberedPart,
  type PartOf,
  type RunCall,
  type StoredSession,
  type ToolPart,
  type Usage
} from '@svc/contract'
import { steerOf, toRunnableId } from '@svc/surface'
import type { ToolCallsShown } from '../../options.ts'
import type { RequiredAction, SessionStatus, Subagent, Turn } from '../wire/agent-schemas.ts'
import { toAgentSession, toSeconds, toTurnError, toUsage, type AgentSettings } from '../wire/agent-objects.ts'
import type { MadeEvent } from '../wire/event-schemas.ts'
import type { FunctionCall, InputContent, McpCall, SessionItem } from '../wire/item-schemas.ts'
import { declaresQuestions, toQuestion, toRequiredAction } from './required-actions.ts'
import { SpeakerItems, type CallItem, type SpokenItem } from './speaker-items.ts'

/** What the projection of a turn depends on beside its log. */
export interface TurnContext {
  readonly session: StoredSession
  readonly settings: AgentSettings
  readonly toolCalls: ToolCallsShown
}

/** A member or a step. */
export interface SubagentTurns {
  readonly id: string
  readonly name: string
  readonly parent: string
  readonly openedAt: number
  closedAt: number | null
  readonly items: SpeakerItems
  /** Its turns, oldest first. */
  readonly turns: Turn[]
  isActive: boolean
}

interface ShownCall {
  callId: string | undefined
  arguments: unknown
  open: CallItem | undefined
}

type Logged<T extends NumberedPart['type']> = NumberedPart & PartOf<T>

const NOTHING: ReadonlyMap<string, RequiredAction> = new Map()

/** The place in a log of which an id is made. */
function toItemId(prefix: string, runId: string, seq: number): string {
  return `${prefix}_${runId}_${seq}`
}

/** Reads the run of an item's id; undefined if it is none. */
export function runOfItem(id: string): string | undefined {
  return /^[a-z]+_(.+)_\d+$/.exec(id)?.[1]
}

/** The run of the id of a turn: its own id, or with two numbers that of a turn of a member. */
export function runOfTurn(turnId: string): string {
  return turnId.replace(/_\d+_\d+$/, '')
}

/**
 * A turn of a session from its log: its items, its members, what it waits for, and the events of each part. What was said ends with its model
 * step, so that what a repeated step makes void is never shown as complete.
 */
export class TurnProjection {
  readonly run = new RunView()
  readonly own: SpeakerItems
  readonly #context: TurnContext
  readonly #runId: string
  readonly #agentId: string
  readonly #subagents = new Map<string, SubagentTurns>()
  readonly #speech = new RunSpeech<SpokenItem>((part) => this.#begin(part))
  readonly #calls = new RunCalls<ShownCall>((part) => this.#show(part))
  readonly #open = new Set<RunCall<ShownCall>>()
  readonly #uses = new Map<string, number>()
  // Questions with an item, by the ids of their inputs.
  readonly #questions = new Map<string, CallItem<FunctionCall>>()
  readonly #callIds = new Map<string, string>()
  #status: SessionStatus = 'idle'
  #turn: Turn
  // Events of the item that begins.
  #begun: MadeEvent[] = []

  constructor(runId: string, context: TurnContext) {
    const { session } = context
    this.#context = context
    this.#runId = runId
    this.#agentId = toRunnableId(session.kind, session.name)
    this.own = new SpeakerItems(session.sessionId, runId)
    this.#turn = this.#newTurn(runId, this.#agentId, null)
  }

  get status(): SessionStatus {
    return this.#status
  }

  get subagents(): readonly SubagentTurns[] {
    return [...this.#subagents.values()]
  }

  /** What the run waits for, by the ids of inputs. */
  get required(): ReadonlyMap<string, RequiredAction> {
    if (this.run.pending.size === 0) return NOTHING
    const { name } = this.#context.session
    return new Map(
      Array.from(this.run.pending, ([id, part]) => {
        const turnId = this.#itemsOf(part.source).turnId
        return [id, toRequiredAction(part, turnId, name, this.#callIds.get(id))]
      })
    )
  }

  /** The items of the agent itself, or of a member. */
  itemsOf(subagentId?: string): readonly SessionItem[] {
    if (subagentId === undefined) return this.own.items
    return this.subagents.find(({ id }) => id === subagentId)?.items.items ?? []
  }

  /** A member as an object. */
  toSubagent({ id, name, parent, openedAt, closedAt, isActive }: SubagentTurns): Subagent {
    return {
      id,
      object: 'agent.session.subagent',
      session_id: this.#context.session.sessionId,
      parent_agent_id: parent,
      name,
      instructions: null,
      status: isActive ? 'active' : 'closed',
      opened_at: toSeconds(openedAt),
      closed_at: isActive || closedAt === null ? null : toSeconds(closedAt)
    }
  }

  add(part: NumberedPart): MadeEvent[] {
    this.run.add(part)
    const { source = [] } = part
    const opened = source.length > 0 && part.type !== 'finish' ? this.#enter(source, part.at) : []
    return opened.length === 0 ? this.#add(part) : [...opened, ...this.#add(part)]
  }

  /** Continues the text under way of the agent itself, and returns the JSON of its event up to the increment; undefined if there is none. */
  continueText(part: Logged<'text'>): string | undefined {
    const spoken = this.#speech.continue(part)?.shown
    if (spoken === undefined) return undefined
    this.run.add(part)
    spoken.texts.push(part.text)
    return (spoken.beforeDelta ??= spoken.owner.toBeforeDelta(spoken))
  }

  #add(part: NumberedPart): MadeEvent[] {
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return this.#say(part)
      case 'start':
        return part.source?.length ? [] : this.#start(part)
      case 'step.start':
        return this.#beginStep(part)
      case 'step':
        return this.#endStep(part)
      case 'voice.turn':
        return this.#speak(part)
      case 'data':
        return this.#steer(part)
      case 'finish':
      case 'error':
        return part.source?.length ? this.#leave(part) : this.#end(part)
      default:
        return isToolPart(part) ? this.#call(part) : []
    }
  }

  /** Ends what is under way of a turn whose log is no longer kept. */
  close(): void {
    for (const items of this.#everyone()) items.endSpoken({ status: 'completed', phase: null })
  }

  #start({ input, at, seq }: Logged<'start'>): MadeEvent[] {
    const turn = this.#turn
    turn.created_at = toSeconds(at)
    const created: MadeEvent = { ...this.#ofTurn('turn.created', { ...turn }) }
    this.#turn = { ...turn, status: 'in_progress', started_at: turn.created_at }
    const content = toInputContent(input)
    return [
      created,
      this.#change('in_progress'),
      this.#ofTurn('turn.in_progress', { ...this.#turn }),
      ...(content === undefined ? [] : [this.own.addUser(this.#idAt('msg', seq), content)])
    ]
  }

  #steer(part: Logged<'data'>): MadeEvent[] {
    const steer = steerOf(part)
    const content = steer && toInputContent(steer.message)
    return content === undefined ? [] : [this.own.addUser(this.#idAt('msg', part.seq), content)]
  }

  #say(part: Logged<'text' | 'reasoning'>): MadeEvent[] {
    const passage = this.#speech.continue(part) ?? this.#speech.open(part)?.passage
    if (passage === undefined) return []
    const { shown } = passage
    const delta = shown.owner.continue(shown, part.text)
    return this.#begun.length === 0 ? [delta] : [...this.#begun.splice(0), delta]
  }

  #begin(part: NumberedPart): SpokenItem {
    const kind = part.type === 'reasoning' ? 'reasoning' : 'text'
    const id = this.#idAt(kind === 'text' ? 'msg' : 'rs', part.seq)
    const { spoken, events } = this.#itemsOf(part.source).begin(kind, id)
    this.#begun.push(...events)
    return spoken
  }

  #beginStep(part: Logged<'step.start'>): MadeEvent[] {
    const { source, attempt } = part
    const status = attempt > 1 ? 'incomplete' : 'completed'
    const ended = this.#endSpeech(source, { status, phase: null })
    this.#speech.begin(part)
    const isVoid = new Set(this.#calls.begin(part))
    const cut = [...this.#open].filter((call) => isVoid.has(call))
    return [...ended, ...cut.flatMap((call) => this.#endCall(call, { status: 'incomplete' }))]
  }

  #endStep({ source, finishReason }: Logged<'step'>): MadeEvent[] {
    const phase = finishReason === 'tool-calls' ? 'commentary' : 'final_answer'
    return this.#endSpeech(source, { status: 'completed', phase })
  }

  #speak(part: Logged<'voice.turn'>): MadeEvent[] {
    const items = this.#itemsOf(part.source)
    const said = this.#speech.speak(part)
    const status = said === undefined ? 'completed' : 'incomplete'
    const ended = this.#endSpeech(part.source, { status, phase: null })
    if (said?.spoken === undefined) return ended
    const events = [...ended, ...this.#begun.splice(0), items.continue(said.spoken, part.text)]
    return [...events, ...items.endSpoken({ status: 'completed', phase: 'final_answer' })]
  }

  #endSpeech(source: readonly string[] | undefined, end: Parameters<SpeakerItems['endSpoken']>[0]) {
    this.#speech.end(source)
    return this.#itemsOf(source).endSpoken(end)
  }

  #call(part: ToolPart): MadeEvent[] {
    // What is said after a call is another item.
    this.#speech.end(part.source)
    switch (part.type) {
      case 'input.request':
        return [...this.#ask(part), this.#change()]
      case 'input.response':
        return [...this.#answer(part), this.#change()]
      case 'tool.approval.request':
        return [...this.#showCall(this.#calls.add(part)!.call, part.seq), this.#change()]
      case 'tool.approval.response': {
        const call = this.#calls.add(part)?.call
        if (call !== undefined && part.args !== undefined) call.shown.arguments = part.args
        return [this.#change()]
      }
      default:
    }
    const call = this.#calls.add(part)?.call
    if (call === undefined || part.type === 'tool.call.delta') return []
    if (part.type === 'tool.call') {
      call.shown.arguments = part.args ?? {}
      if (call.isClient) call.shown.callId ??= this.#newId(part.toolCallId)
      return call.isClient ? [] : this.#showCall(call, part.seq)
    }
    return [...this.#showCall(call, part.seq), ...this.#outcome(call, part)]
  }

  #outcome(call: RunCall<ShownCall>, part: Logged<'tool.result' | 'tool.error'>): MadeEvent[] {
    const { shown, isClient } = call
    const error = part.type === 'tool.error' ? part.error : undefined
    const status = error === undefined ? 'completed' : 'failed'
    const edited = { arguments: shown.arguments }
    if (!isClient) {
      const output = part.type === 'tool.result' ? part.result : null
      return this.#endCall(call, { status, output, error: error ?? null, ...edited })
    }
    const items = this.#itemsOf(call.source)
    return [
      ...this.#endCall(call, { status, ...edited }),
      items.add({
        id: this.#idAt('fco', part.seq),
        turn_id: items.turnId,
        type: 'function_call_output',
        call_id: shown.callId!,
        output: part.type === 'tool.result' ? toText(part.result) : null,
        error: error?.message ?? null,
        status
      })
    ]
  }

  #ask(part: Logged<'input.request'>): MadeEvent[] {
    const { inputId, kind, toolCallId, source, seq } = part
    if (kind === 'tool') {
      const call = toolCallId === undefined ? undefined : this.#calls.find({ toolCallId, source })
      if (call?.isClient !== true) return []
      this.#callIds.set(inputId, call.shown.callId!)
      return this.#showCall(call, seq)
    }
    if (kind !== 'question' || !declaresQuestions(this.#context.settings.tools)) return []
    const items = this.#itemsOf(source)
    const { call, event } = items.beginCall<FunctionCall>({
      id: this.#idAt('fc', seq),
      turn_id: items.turnId,
      type: 'function_call',
      call_id: inputId,
      status: 'in_progress',
      ...toQuestion(part)
    })
    this.#questions.set(inputId, call)
    return [event]
  }

  #answer({ inputId, action, content, seq }: Logged<'input.response'>): MadeEvent[] {
    const call = this.#questions.get(inputId)
    if (call === undefined) return []
    this.#questions.delete(inputId)
    const status = action === 'accept' ? 'completed' : 'failed'
    const { owner } = call
    return [
      owner.endCall(call, { status }),
      owner.add({
        id: this.#idAt('fco', seq),
        turn_id: owner.turnId,
        type: 'function_call_output',
        call_id: inputId,
        output: action === 'accept' ? toText(content) : null,
        error: action === 'accept' ? null : `The question was not answered (${action})`,
        status
      })
    ]
  }

  #show(part: CallPart): ShownCall {
    const isClient = 'runsAt' in part && part.runsAt === 'client'
    const callId = isClient ? this.#newId(part.toolCallId) : undefined
    return { callId, arguments: 'args' in part ? (part.args ?? {}) : {}, open: undefined }
  }

  // Begins the item of a call that has none.
  #showCall(call: RunCall<ShownCall>, seq: number): MadeEvent[] {
    const { shown, toolName: name, source, isClient } = call
    if (shown.open !== undefined || (!isClient && this.#context.toolCalls === 'none')) return []
    const items = this.#itemsOf(source)
    const { turnId: turn_id } = items
    const common = { turn_id, name, arguments: shown.arguments, status: 'in_progress' } as const
    const item: FunctionCall | McpCall = isClient
      ? { id: this.#idAt('fc', seq), type: 'function_call', call_id: shown.callId!, ...common }
      : {
          id: this.#idAt('mcp', seq),
          type: 'mcp_call',
          server_label: this.#context.session.name,
          output: null,
          error: null,
          ...common
        }
    const begun = items.beginCall(item)
    shown.open = begun.call
    this.#open.add(call)
    return [begun.event]
  }

  #endCall(call: RunCall<ShownCall>, end: Partial<FunctionCall> & Partial<McpCall>): MadeEvent[] {
    const { open } = call.shown
    if (open === undefined || !this.#open.delete(call)) return []
    return [open.owner.endCall(open, end)]
  }

  // The agent itself ends, or a member.
  #endOf(source: readonly string[], status: 'completed' | 'incomplete'): MadeEvent[] {
    const phase = status === 'completed' ? 'final_answer' : null
    const key = sourceKey(source)
    const events: MadeEvent[] = []
    for (const [at, { items }] of this.#subagents)
      if (isAtOrIn(at, key)) events.push(...items.endSpoken({ status, phase }))
    if (source.length === 0) events.push(...this.own.endSpoken({ status, phase }))
    for (const call of this.#open)
      if (source.every((name, at) => call.source[at] === name))
        events.push(...this.#endCall(call, { status: 'incomplete' }))
    return events
  }

  #end(part: Logged<'finish' | 'error'>): MadeEvent[] {
    const isFailed = part.type === 'error'
    const isCanceled = !isFailed && part.finishReason === 'canceled'
    const said =
      !isFailed && !isCanceled && this.#speech.length === 0 && !this.own.isSpeaking
        ? this.#sayValue(part.structured, part)
        : []
    this.#speech.endAll()
    const status = isFailed || isCanceled ? 'incomplete' : 'completed'
    const events = [...said, ...this.#endOf([], status)]
    for (const call of this.#questions.values())
      events.push(call.owner.endCall(call, { status: 'incomplete' }))
    this.#questions.clear()
    const state = isFailed ? 'failed' : isCanceled ? 'cancelled' : 'completed'
    for (const each of this.subagents) if (each.isActive) events.push(...this.#closeMember(each, state, part))
    this.#turn = {
      ...this.#turn,
      status: state,
      completed_at: toSeconds(part.at),
      error: isFailed ? toTurnError(part.error) : null,
      usage: toUsage(this.run.usage)
    }
    return [...events, this.#ended(state, this.#turn), this.#change('idle')]
  }

  // A runnable that has said nothing has its value as its text.
  #sayValue(value: unknown, { seq }: NumberedPart): MadeEvent[] {
    if (value === null || value === undefined || this.own.items.some(isAnswer)) return []
    const { spoken, events } = this.own.begin('text', this.#idAt('msg', seq))
    return [...events, this.own.continue(spoken, JSON.stringify(value))]
  }

  #ended(status: 'completed' | 'failed' | 'cancelled', turn: Turn): MadeEvent {
    return { ...this.#ofTurn(`turn.${status}`, { ...turn }), usage: turn.usage }
  }

  #ofTurn<const T extends string>(type: T, turn: Turn) {
    const { session_id, id: turn_id } = turn
    return { type: `agent.session.${type}` as const, session_id, turn_id, turn }
  }

  // The state of the session, by default as what the run waits for.
  #change(status?: SessionStatus): MadeEvent {
    this.#status = status ?? (this.run.pending.size > 0 ? 'requires_action' : 'in_progress')
    const { session, settings } = this.#context
    const state = { status: this.#status, required: [...this.required.values()], at: this.run.at }
    return { type: `agent.session.${this.#status}`, session: toAgentSession(session, settings, state) }
  }

  #itemsOf(source: readonly string[] = []): SpeakerItems {
    return source.length === 0 ? this.own : (this.#subagents.get(sourceKey(source))?.items ?? this.own)
  }

  *#everyone(): Generator<SpeakerItems> {
    yield this.own
    for (const { items } of this.#subagents.values()) yield items
  }

  // A member is heard of: it and those above it are active.
  #enter(source: readonly string[], at: number): MadeEvent[] {
    const known = this.#subagents.get(sourceKey(source))
    if (known?.isActive) return []
    const above = source.slice(0, -1)
    const events = above.length === 0 ? [] : this.#enter(above, at)
    if (known !== undefined) return [...events, ...this.#beginTurn(known, at, 'active')]
    const number = this.#subagents.size + 1
    const member: SubagentTurns = {
      id: `sub_${this.#runId}_${number}`,
      name: source.at(-1)!,
      parent: this.#subagents.get(sourceKey(above))?.id ?? this.#agentId,
      openedAt: at,
      closedAt: null,
      items: new SpeakerItems(this.#context.session.sessionId, ''),
      turns: [],
      isActive: false
    }
    this.#subagents.set(sourceKey(source), member)
    return [...events, ...this.#beginTurn(member, at, 'created')]
  }

  #beginTurn(member: SubagentTurns, at: number, how: 'created' | 'active'): MadeEvent[] {
    const { id, turns, items } = member
    const turnId = `${this.#runId}_${id.slice(id.lastIndexOf('_') + 1)}_${turns.length + 1}`
    const created = { ...this.#newTurn(turnId, id, id), created_at: toSeconds(at) }
    const begun: Turn = { ...created, status: 'in_progress', started_at: created.created_at }
    turns.push(begun)
    items.turnId = turnId
    member.isActive = true
    return [
      { type: `agent.session.subagent.${how}`, subagent: this.toSubagent(member) },
      this.#ofTurn('turn.created', created),
      this.#ofTurn('turn.in_progress', begun)
    ]
  }

  #leave(part: Logged<'finish' | 'error'>): MadeEvent[] {
    const { source = [] } = part
    const isFailed = part.type === 'error'
    const isCanceled = !isFailed && part.finishReason === 'canceled'
    this.#speech.endWithin(source)
    if (!isFailed) this.#calls.finish(part)
    const events = this.#endOf(source, isFailed || isCanceled ? 'incomplete' : 'completed')
    const state = isFailed ? 'failed' : isCanceled ? 'cancelled' : 'completed'
    const key = sourceKey(source)
    for (const [at, member] of [...this.#subagents].toReversed())
      if (member.isActive && isAtOrIn(at, key)) events.push(...this.#closeMember(member, state, part))
    return events
  }

  #closeMember(
    member: SubagentTurns,
    state: 'completed' | 'failed' | 'cancelled',
    part: Logged<'finish' | 'error'>
  ): MadeEvent[] {
    const usage: Usage | undefined = part.type === 'finish' && part.source?.length ? part.usage : undefined
    const turn: Turn = {
      ...member.turns.at(-1)!,
      status: state,
      completed_at: toSeconds(part.at),
      error: part.type === 'error' ? toTurnError(part.error) : null,
      usage: toUsage(usage)
    }
    member.turns[member.turns.length - 1] = turn
    member.isActive = false
    member.closedAt = part.at
    return [
      this.#ended(state, turn),
      { type: 'agent.session.subagent.closed', subagent: this.toSubagent(member) }
    ]
  }

  #newTurn(id: string, agentId: string, subagentId: string | null): Turn {
    return {
      id,
      object: 'agent.session.turn',
      session_id: this.#context.session.sessionId,
      agent_id: agentId,
      subagent_id: subagentId,
      status: 'queued',
      created_at: 0,
      started_at: null,
      completed_at: null,
      error: null,
      usage: null
    }
  }

  #idAt(prefix: string, seq: number): string {
    return toItemId(prefix, this.#runId, seq)
  }

  // Providers use ids again, and members share them.
  #newId(toolCallId: string): string {
    const uses = (this.#uses.get(toolCallId) ?? 0) + 1
    this.#uses.set(toolCallId, uses)
    return uses === 1 ? toolCallId : `${toolCallId}#${uses}`
  }
}

function isAtOrIn(key: string, within: string): boolean {
  return within === '' || key === within || key.startsWith(`${within}\u0000`)
}

function isAnswer({ type, ...item }: SessionItem): boolean {
  return type === 'message' && 'role' in item && item.role === 'assistant' && item.status === 'completed'
}

/** What a function returned, as the text of its output. */
export function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}

/** What was asked as the content of a message. Files are named; their content is in no log. */
export function toInputContent(input: unknown): InputContent[] | undefined {
  if (input === undefined || input === null) return undefined
  if (typeof input === 'string') return [{ type: 'input_text', text: input }]
  if (!Array.isArray(input)) return [{ type: 'input_text', text: JSON.stringify(input) }]
  return input.map((part: Readonly<Record<string, unknown>>) => {
    const { type, text, url, filename, mimeType } = part
    if (type === 'text') return { type: 'input_text', text: String(text) }
    if (type === 'image' && typeof url === 'string') return { type: 'input_image', image_url: url }
    return { type: 'input_text', text: `[${String(url ?? filename ?? mimeType ?? type)}]` }
  })
}
