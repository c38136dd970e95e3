import {
  RunView,
  sourceKey,
  type Increment,
  type NumberedPart,
  type PartOf,
  type PartType
} from '@svc/contract'
import { type FileUrl } from '@svc/surface'
import type { AgUiEvent, AgUiEventOf, Tag } from '../wire/events.ts'
import type { AgUiMessage } from '../wire/input.ts'
import { contentEvents, toDataEvent } from './content-events.ts'
import { Interrupts, type AskedKind } from './interrupts.ts'
import { Members } from './members.ts'
import { toOutcome } from './outcomes.ts'
import { Speech } from './speech.ts'
import { TokenCount } from './token-usage.ts'
import { ToolCalls } from './tool-calls.ts'

/** The logged part of a type. */
type Logged<T extends PartType> = NumberedPart & PartOf<T>

/** How events are made for a client. */
export interface EventOptions {
  readonly fileUrl: FileUrl
  /** True if the client knows version 1.0 of the protocol. */
  readonly isCurrent: boolean
  /** The user's message of a run, for a client that reads the thread from its start. Default: it has that message. */
  readonly toMessage?: (runId: string, input: unknown) => AgUiMessage | undefined
  /** Calls of the client's tools whose results the client has. */
  readonly known?: ReadonlySet<string>
}

/**
 * Makes the events of a run from its parts, in order. They depend on the log only, so that each reader gets the same; the URLs of files begin as
 * the reader reaches the service.
 */
export class RunEvents {
  /** The run so far. */
  readonly run = new RunView()
  readonly #options: EventOptions
  readonly #members = new Members()
  readonly #speech = new Speech()
  readonly #tools: ToolCalls
  readonly #usage = new TokenCount()
  readonly #interrupts = new Interrupts()
  // Model steps under way, by their source.
  readonly #steps = new Map<string, { readonly stepName: string } & Tag>()
  // Of this part of the run.
  #runId = ''
  #structured: unknown

  constructor(options: EventOptions) {
    this.#options = options
    this.#tools = new ToolCalls(this.#speech, options.known ?? new Set())
  }

  /** What the run has asked for with this id; undefined if nothing. */
  kindOf(inputId: string): AskedKind | undefined {
    return this.#interrupts.kindOf(inputId)
  }

  /** The inputs that tool messages answer, or have answered, by the ids of their calls. */
  get askedCalls(): ReadonlyMap<string, string> {
    return this.#tools.asked
  }

  /** Continues the text under way with an increment, and returns the JSON of its event; undefined if there is none. */
  continueText(part: Increment, json: string): string | undefined {
    const id = this.#speech.continueText(part)
    if (id === undefined) return undefined
    this.run.seq = part.seq
    return `{"type":"TEXT_MESSAGE_CONTENT","messageId":"${id}","delta":${json}}`
  }

  add(part: NumberedPart): AgUiEvent[] {
    this.run.add(part)
    if (part.type === 'start') return part.source?.length ? [] : [this.#start(part)]
    if (!part.source?.length && (part.type === 'finish' || part.type === 'error')) return this.#end(part)
    const events: AgUiEvent[] = []
    const tag = this.#members.open(this.run.start?.runId ?? '', part, events)
    events.push(...this.#add(part, tag))
    return events
  }

  /** The events that begin the next part of the run, after its last part so far. */
  resume(): AgUiEvent[] {
    this.#closeAll()
    this.#members.hideAll()
    this.#usage.take()
    const { threadId, runId: of } = this.#ids
    const { seq, at: timestamp } = this.run
    const runId = (this.#runId = `${of}_${seq + 1}`)
    return [{ type: 'RUN_STARTED', threadId, runId, protocolVersion: '1.0', timestamp }]
  }

  /** The events that end a run whose log has no end: that of a turn as a session keeps it. */
  finish(): AgUiEvent[] {
    return [...this.#closeAll(), { ...this.#finished(), outcome: { type: 'success' } }]
  }

  /** The events that end a part of the run where it waits. */
  pause(): AgUiEvent[] {
    const interrupts = this.#interrupts.of(this.run.pending, (call) => this.#tools.idOf(call))
    const interruptsOf = (subagentRunId: string) =>
      interrupts.filter((each) => each.subagentRunId === subagentRunId).map(({ id }) => id)
    const end = { isCanceled: false, interrupts, pendingToolCallIds: this.#tools.pending }
    return [
      ...this.#closeAll(),
      ...this.#members.suspendAll(interruptsOf),
      { ...this.#finished(), ...toOutcome(end, this.#options.isCurrent) }
    ]
  }

  get #ids(): { threadId: string; runId: string } {
    const { sessionId: threadId = '', runId = '' } = this.run.start ?? {}
    return { threadId, runId }
  }

  #start({ runId, input, at }: Logged<'start'>): AgUiEvent {
    this.#runId = this.#speech.runId = this.#tools.runId = runId
    const message = this.#options.toMessage?.(runId, input)
    return {
      type: 'RUN_STARTED',
      ...this.#ids,
      protocolVersion: '1.0',
      timestamp: at,
      ...(message && { input: { ...this.#ids, messages: [message], tools: [], context: [] } })
    }
  }

  #add(part: NumberedPart, tag: Tag): AgUiEvent[] {
    const { source } = part
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return this.#speech.add(part, tag)
      case 'step.start':
        return this.#beginStep(part, tag)
      case 'step':
        this.#usage.add(part)
        return [...this.#speech.close(source), ...this.#endStep(source)]
      case 'structured':
        if (!source?.length) this.#structured = part.value
        return [{ type: 'CUSTOM', name: 'structured', value: part.value ?? null, ...tag }]
      case 'data':
        return [toDataEvent(part, tag)]
      case 'voice.turn': {
        const { events, isVoid } = this.#speech.speak(part, tag)
        return [...events, ...voided(isVoid, [], tag)]
      }
      case 'finish':
      case 'error':
        return this.#endMember(part)
      case 'tool.approval.request':
      case 'input.request':
        this.#interrupts.add(part, tag)
        return this.#tool(part, tag)
      case 'tool.call':
      case 'tool.call.delta':
      case 'tool.result':
      case 'tool.error':
      case 'tool.approval.response':
      case 'input.response':
        return this.#tool(part, tag)
      default:
        return contentEvents(part, {
          runId: this.#ids.runId,
          tag,
          messageId: this.#speech.textOf(source),
          url: (file) => this.#options.fileUrl(file, this.#ids.runId),
          callId: (call) => this.#tools.idOf(call)
        })
    }
  }

  // A message ends where a call of its speaker begins.
  #tool(part: Parameters<ToolCalls['add']>[0], tag: Tag): AgUiEvent[] {
    const closed = this.#speech.close(part.source)
    return [...closed, ...this.#tools.add(part, tag)]
  }

  #beginStep(part: Logged<'step.start'>, tag: Tag): AgUiEvent[] {
    const { source = [], index, attempt } = part
    // What runs within a member begins again, too.
    const isRepeated = attempt > 1 && source.length > 0
    const events = isRepeated ? this.#speech.closeWithin(source) : this.#speech.close(source)
    const tools = this.#tools.begin(part)
    events.push(...tools.events, ...this.#endStep(source))
    events.push(...voided(this.#speech.begin(part), tools.isVoid, tag))
    if (source.length === 0) this.#structured = undefined
    const step = { stepName: `step-${index}`, ...tag }
    this.#steps.set(sourceKey(source), step)
    return [...events, { type: 'STEP_STARTED', ...step }]
  }

  #endStep(source: readonly string[] = []): AgUiEvent[] {
    const key = sourceKey(source)
    const step = this.#steps.get(key)
    this.#steps.delete(key)
    return step === undefined ? [] : [{ type: 'STEP_FINISHED', ...step }]
  }

  #endMember(part: Logged<'finish'> | Logged<'error'>): AgUiEvent[] {
    const { source = [] } = part
    const events = [...this.#speech.closeWithin(source), ...this.#endStep(source)]
    let result: unknown
    if (part.type === 'finish') {
      this.#speech.finish(part)
      this.#tools.finish(part)
      result = part.structured ?? undefined
    }
    events.push(
      ...this.#members.end(source, (tag) =>
        part.type === 'error'
          ? { type: 'SUBAGENT_ERROR', ...tag, message: part.error.message, code: part.error.code }
          : { type: 'SUBAGENT_FINISHED', ...tag, ...(result !== undefined && { result }) }
      )
    )
    return events
  }

  #end(part: Logged<'finish'> | Logged<'error'>): AgUiEvent[] {
    const closed = this.#closeAll()
    if (part.type === 'error') {
      const { retryable, ...error } = part.error
      return [...closed, { type: 'RUN_ERROR', ...error, ...this.#tokens(), metadata: { retryable } }]
    }
    const { finishReason, durationMs, structured } = part
    const isCanceled = finishReason === 'canceled'
    const members = this.#members.endAll((tag) =>
      isCanceled
        ? { type: 'SUBAGENT_ERROR', ...tag, message: 'The run was canceled' }
        : { type: 'SUBAGENT_FINISHED', ...tag }
    )
    const result = structured ?? this.#structured ?? undefined
    const end = { isCanceled, interrupts: [], pendingToolCallIds: [] }
    const metadata = { finishReason, durationMs }
    return [
      ...closed,
      ...members,
      {
        ...this.#finished(),
        ...(result !== undefined && { result }),
        ...toOutcome(end, this.#options.isCurrent),
        metadata
      }
    ]
  }

  #finished(): AgUiEventOf<'RUN_FINISHED'> {
    return { type: 'RUN_FINISHED', ...this.#ids, runId: this.#runId, ...this.#tokens() }
  }

  #tokens() {
    const usage = this.#usage.take()
    return usage && { usage }
  }

  // Nothing of a run may be under way where it ends.
  #closeAll(): AgUiEvent[] {
    const steps = [...this.#steps.values()]
    this.#steps.clear()
    return [
      ...this.#speech.closeAll(),
      ...this.#tools.closeAll(),
      ...steps.map((step): AgUiEvent => ({ type: 'STEP_FINISHED', ...step }))
    ]
  }
}

// What an attempt that was repeated had made: clients drop it.
function voided(messageIds: string[], toolCallIds: string[], tag: Tag): AgUiEvent[] {
  if (messageIds.length === 0 && toolCallIds.length === 0) return []
  return [{ type: 'CUSTOM', name: 'void', value: { messageIds, toolCallIds }, ...tag }]
}
