import {
  isWithin,
  RunSpeech,
  RunView,
  sourceKey,
  isToolPart,
  type NumberedPart,
  type PartOf,
  type PartType,
  type Passage,
  type ToolPart
} from '@svc/contract'
import { toBlocks } from '../wire/blocks.ts'
import type { PreviewEvent, SessionEvent, StreamEvent } from '../wire/events.ts'
import { stopOfError, stopOfFinish, toModelUsage, toSessionError, toStop, type Stop } from './outcomes.ts'
import type { ShownEvent } from './shown-event.ts'
import { countTokens, Threads, type Thread } from './threads.ts'
import { ToolUses, type Asked, type EventMaker } from './tool-uses.ts'
import { toUserBlocks } from './user-content.ts'

type Logged<T extends PartType> = NumberedPart & PartOf<T>

/** What is said without a break. */
interface Said {
  readonly id: string
  readonly thread: Thread | undefined
  readonly texts: string[]
  /** The JSON of its increments up to the text, which is all that differs. */
  readonly beforeText: string
}

/** A model request under way, with the events that stand once it is over: those of a void attempt are dropped. */
interface Request {
  readonly id: string
  readonly source: readonly string[]
  readonly thread: Thread | undefined
  held: ShownEvent[]
}

/** The id of the event of a message that begins a run. */
export function idOfMessage(runId: string): string {
  return idAt(runId, 1)
}

/** The id of the event that answers an input. */
export function idOfAnswer(inputId: string): string {
  return `sevt_${inputId}_answer`
}

/** The id of the event that ends a run. */
export function idOfInterrupt(runId: string): string {
  return `sevt_${runId}_interrupt`
}

function idAt(runId: string, seq: number, what?: string): string {
  return what === undefined ? `sevt_${runId}_${seq}` : `sevt_${runId}_${seq}_${what}`
}

function toDelta(event_id: string, text: string): PreviewEvent {
  const content = { type: 'text', text } as const
  return { type: 'event_delta', event_id, delta: { type: 'content_delta', index: 0, content } }
}

function timeOf(at: number): string {
  return new Date(at).toISOString()
}

/**
 * Makes the events of a run from its parts, in order. They depend on the log only: each reader, early or late, gets the same ids. What a
 * model says and calls stands in the history once its step is over, so that nothing of a void attempt does; until then streams have previews.
 */
export class RunEvents {
  /** The run so far. */
  readonly run = new RunView()
  readonly #threads = new Threads()
  readonly #make: EventMaker = {
    idAt: (seq, what) => idAt(this.#runId, seq, what),
    idOfAnswer,
    timeOf
  }
  readonly #speech = new RunSpeech<Said>(({ seq }) => {
    const id = idAt(this.#runId, seq)
    const beforeText = JSON.stringify(toDelta(id, '')).slice(0, -'""}}}'.length)
    return { id, thread: this.#thread, texts: [], beforeText }
  })
  readonly #uses = new ToolUses(this.#make)
  readonly #requests = new Map<string, Request>()
  #runId = ''
  // Of the part under way.
  #thread: Thread | undefined
  #events: ShownEvent[] = []
  // What the session waits for, while it is idle.
  #idleFor: string | undefined
  #structured: unknown

  /** What the run has asked for, answered or not, by the ids of the inputs. */
  get asked(): ReadonlyMap<string, Asked> {
    return this.#uses.asked
  }

  /** The threads that have begun. */
  get threads(): readonly Thread[] {
    return this.#threads.all
  }

  add(part: NumberedPart): ShownEvent[] {
    this.run.add(part)
    this.#events = []
    if (part.type === 'start' && !part.source?.length) this.#runId = part.runId
    const { thread, begun } = this.#threads.open(this.#runId, part)
    this.#thread = thread
    for (const each of begun) this.#beginThread(each, part)
    this.#add(part)
    if (this.run.end === undefined) this.#settle(part)
    return this.#events
  }

  /**
   * Continues the message under way of the agent itself with an increment, and returns the JSON of its event; undefined if there is none.
   * @param json of the text
   */
  continueText(part: Logged<'text'>, json: string): string | undefined {
    const said = this.#speech.continue(part)?.shown
    if (said === undefined) return undefined
    this.run.add(part)
    said.texts.push(part.text)
    return `${said.beforeText}${json}}}}`
  }

  #add(part: NumberedPart): void {
    const { source = [] } = part
    switch (part.type) {
      case 'start':
        if (source.length === 0) this.#start(part)
        break
      case 'text':
      case 'reasoning':
        this.#say(part)
        break
      case 'step.start':
        this.#beginStep(part)
        break
      case 'step':
        this.#endStep(part)
        break
      case 'structured':
        if (this.#thread === undefined) this.#structured = part.value
        else this.#thread.structured = part.value
        break
      case 'data':
        if (part.name === 'steer' && part.transient !== true) this.#join(part)
        break
      case 'voice.transcript':
        if (part.final) this.#ask(part, part.text)
        break
      case 'voice.turn':
        this.#speak(part)
        break
      case 'finish':
      case 'error':
        if (source.length > 0) this.#endThread(part)
        else this.#end(part)
        break
      default:
        if (isToolPart(part)) this.#tool(part)
    }
  }

  #start(part: Logged<'start'>): void {
    if (part.input !== undefined)
      this.#emit({
        id: idOfMessage(part.runId),
        type: 'user.message',
        content: toUserBlocks(part.input),
        processed_at: timeOf(part.at)
      })
    this.#emit(this.#happened('session.status_running', part, 'running'))
  }

  // A message of another wire joins the run.
  #join(part: Logged<'data'>): void {
    const { message } = (part.value ?? {}) as { message?: unknown }
    if (message !== undefined) this.#ask(part, message)
  }

  #ask({ seq, at }: NumberedPart, input: unknown): void {
    const content = toUserBlocks(input)
    this.#emit({ id: this.#make.idAt(seq), type: 'user.message', content, processed_at: timeOf(at) })
  }

  #say(part: Logged<'text'> | Logged<'reasoning'>): void {
    let passage = this.#speech.continue(part)
    if (passage === undefined) {
      const opened = this.#speech.open(part)
      if (opened === undefined) return
      for (const ended of opened.ended) this.#closePassage(ended)
      passage = opened.passage
      const type = passage.kind === 'text' ? 'agent.message' : 'agent.thinking'
      this.#emit({ type: 'event_start', event: { id: passage.shown.id, type } })
    }
    if (passage.kind !== 'text') return
    const { id, texts } = passage.shown
    texts.push(part.text)
    this.#thread?.texts.push(part.text)
    this.#emit(toDelta(id, part.text))
  }

  // A message ends where a call of its speaker begins.
  #tool(part: ToolPart): void {
    for (const ended of this.#speech.end(part.source)) this.#closePassage(ended)
    const asks = part.type === 'tool.approval.request' || part.type === 'input.request'
    if (asks) this.#release(part.source ?? [])
    const isUserFacing = asks || part.type === 'tool.approval.response' || part.type === 'input.response'
    for (const event of this.#uses.add(part))
      this.#hold(
        event,
        isUserFacing || event.type === 'agent.custom_tool_use' || event.type === 'user.custom_tool_result'
      )
  }

  #beginStep(part: Logged<'step.start'>): void {
    const { source = [], attempt } = part
    if (attempt > 1) this.#void(source)
    else {
      for (const ended of this.#speech.end(source)) this.#closePassage(ended)
      const earlier = this.#requests.get(sourceKey(source))
      if (earlier !== undefined) this.#endRequest(earlier, part, false)
    }
    this.#uses.begin(part)
    this.#speech.begin(part)
    if (this.#thread === undefined) this.#structured = undefined
    else this.#thread.texts = []
    const start = this.#happened('span.model_request_start', part, 'request')
    this.#emit(start)
    this.#requests.set(sourceKey(source), { id: start.id, source, thread: this.#thread, held: [] })
  }

  // What was under way at a place, and within it, is begun again.
  #void(place: readonly string[]): void {
    if (place.length > 0) this.#speech.endWithin(place)
    else this.#speech.end(place)
    const isVoid = ({ source }: Request) =>
      place.length === 0 ? source.length === 0 : isWithin(source, place)
    for (const request of [...this.#requests.values()].filter(isVoid)) {
      request.held = []
      this.#endRequest(request, this.run, true)
    }
  }

  #endStep(part: Logged<'step'>): void {
    const { source = [], usage } = part
    for (const ended of this.#speech.end(source)) this.#closePassage(ended)
    countTokens(this.#thread, usage)
    const request = this.#requests.get(sourceKey(source))
    if (request !== undefined) this.#endRequest(request, part, false, usage)
  }

  #endRequest(
    request: Request,
    { at }: { readonly at: number },
    isError: boolean,
    usage?: PartOf<'step'>['usage']
  ): void {
    const { id, source, thread, held } = request
    this.#requests.delete(sourceKey(source))
    this.#events.push(...held)
    const event: SessionEvent = {
      id: `${id}_end`,
      type: 'span.model_request_end',
      model_request_start_id: id,
      is_error: isError,
      model_usage: toModelUsage(usage),
      processed_at: timeOf(at)
    }
    this.#events.push({ event, thread, isShared: false })
  }

  #speak(part: Logged<'voice.turn'>): void {
    const ended = this.#speech.end(part.source)
    const change = this.#speech.speak(part)
    const isVoid = new Set(change?.isVoid.map(({ id }) => id))
    for (const passage of ended) if (!isVoid.has(passage.shown.id)) this.#closePassage(passage)
    for (const request of this.#requests.values())
      request.held = request.held.filter(({ event }) => !('id' in event) || !isVoid.has(event.id))
    if (change?.spoken === undefined) return
    this.#hold({
      id: change.spoken.id,
      type: 'agent.message',
      content: toBlocks(part.text),
      processed_at: timeOf(part.at)
    })
  }

  #beginThread(thread: Thread, { seq, at }: NumberedPart): void {
    const { id: session_thread_id, name: agent_name, source } = thread
    const common = { session_thread_id, agent_name, processed_at: timeOf(at) }
    const idOf = (what: string) => this.#make.idAt(seq, `${what}_${source.length}`)
    const created = { id: idOf('created'), type: 'session.thread_created', workflow_run_id: null } as const
    this.#events.push({ event: { ...created, ...common }, thread: thread.parent, isShared: true })
    const running = { id: idOf('running'), type: 'session.thread_status_running' } as const
    this.#events.push({ event: { ...running, ...common }, thread, isShared: true })
  }

  #endThread(part: Logged<'finish'> | Logged<'error'>): void {
    const { source = [] } = part
    for (const ended of this.#speech.endWithin(source)) this.#closePassage(ended)
    this.#endRequests(source, part)
    if (part.type === 'finish') this.#uses.finish(part)
    const stop = part.type === 'finish' ? stopOfFinish(part) : stopOfError(part.error)
    for (const thread of this.#threads.end(source)) {
      const isSelf = thread.source.length === source.length
      this.#idleThread(thread, part, isSelf ? stop : toStop({ type: 'end_turn' }))
      if (isSelf && part.type === 'finish') this.#report(thread, part)
    }
  }

  // What a member has said goes to its caller.
  #report(thread: Thread, { seq, at, structured }: Logged<'finish'>): void {
    const value = structured ?? thread.structured
    const text = thread.texts.join('') || (value === null || value === undefined ? '' : JSON.stringify(value))
    if (text === '') return
    const event: SessionEvent = {
      id: this.#make.idAt(seq, 'received'),
      type: 'agent.thread_message_received',
      from_session_thread_id: thread.id,
      from_agent_name: thread.name,
      content: toBlocks(text),
      processed_at: timeOf(at)
    }
    this.#events.push({ event, thread: thread.parent, isShared: false })
  }

  #idleThread(thread: Thread, { seq, at }: NumberedPart, stop: Stop): void {
    const { id: session_thread_id, name: agent_name, source } = thread
    const id = this.#make.idAt(seq, `idle_${source.length}`)
    const common = { session_thread_id, agent_name, processed_at: timeOf(at) }
    const event: SessionEvent = { id, type: 'session.thread_status_idle', ...common, ...stop }
    this.#events.push({ event, thread, isShared: true })
  }

  #end(part: Logged<'finish'> | Logged<'error'>): void {
    for (const ended of this.#speech.endAll()) this.#closePassage(ended)
    const isSilent = this.#speech.length === 0
    this.#endRequests([], part)
    const isFailed = part.type === 'error'
    const stop = isFailed ? stopOfError(part.error) : stopOfFinish(part)
    for (const thread of this.#threads.end([])) this.#idleThread(thread, part, stop)
    if (isFailed) this.#emit({ ...this.#happened('session.error', part), error: toSessionError(part.error) })
    else {
      const value = part.structured ?? this.#structured
      if (isSilent && value !== null && value !== undefined)
        this.#emit({ ...this.#happened('agent.message', part), content: toBlocks(JSON.stringify(value)) })
      if (part.finishReason === 'canceled')
        this.#emit({
          id: idOfInterrupt(this.#runId),
          type: 'user.interrupt',
          processed_at: timeOf(part.at)
        })
    }
    this.#emit({ ...this.#happened('session.status_idle', part, 'idle'), ...stop })
  }

  #endRequests(place: readonly string[], part: NumberedPart): void {
    for (const request of this.#requests.values())
      if (isWithin(request.source, place)) this.#endRequest(request, part, true)
  }

  // Where the run waits, the session is idle; it runs again when it does not.
  #settle(part: NumberedPart): void {
    this.#thread = undefined
    if (!this.run.isWaiting) {
      if (this.#idleFor === undefined) return
      this.#idleFor = undefined
      this.#emit(this.#happened('session.status_running', part, 'running'))
      return
    }
    const event_ids = [...this.run.pending.keys()].flatMap(
      (inputId) => this.asked.get(inputId)?.eventId ?? []
    )
    const idleFor = event_ids.join()
    if (idleFor === this.#idleFor) return
    this.#idleFor = idleFor
    const stop = toStop({ type: 'requires_action', event_ids })
    this.#emit({ ...this.#happened('session.status_idle', part, 'idle'), ...stop })
  }

  #closePassage({ kind, shown }: Passage<Said>): void {
    const { id, texts, thread } = shown
    const processed_at = timeOf(this.run.at)
    const event: SessionEvent =
      kind === 'text'
        ? { id, type: 'agent.message', content: toBlocks(texts.join('')), processed_at }
        : { id, type: 'agent.thinking', processed_at }
    this.#place({ event, thread, isShared: false }, thread?.source ?? [])
  }

  // Shows the events of a source that were held back.
  #release(source: readonly string[]): void {
    const request = this.#requests.get(sourceKey(source))
    if (request === undefined) return
    this.#events.push(...request.held)
    request.held = []
  }

  #hold(event: SessionEvent, isShared = false): void {
    this.#place({ event, thread: this.#thread, isShared }, this.#thread?.source ?? [])
  }

  #place(shown: ShownEvent, source: readonly string[]): void {
    const request = this.#requests.get(sourceKey(source))
    if (request === undefined) this.#events.push(shown)
    else request.held.push(shown)
  }

  #emit(event: StreamEvent): void {
    this.#events.push({ event, thread: this.#thread, isShared: false })
  }

  #happened<const T extends SessionEvent['type']>(type: T, { seq, at }: NumberedPart, what?: string) {
    return { id: this.#make.idAt(seq, what), type, processed_at: timeOf(at) }
  }
}
