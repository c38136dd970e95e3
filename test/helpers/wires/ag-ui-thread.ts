import {
  HttpAgent,
  runHttpRequest,
  transformHttpEventStream,
  type AssistantMessage,
  type BaseEvent,
  type RunAgentInput
} from '@ag-ui/client'
import { approvalLine, outcomeOfError, questionLine } from './report-of-log.ts'
import type { Report, ReportedCall } from './wire.ts'

/** The fields of the events that reports are made of. */
interface ThreadEvent {
  type: string
  runId?: string
  messageId?: string
  toolCallId?: string
  subagentRunId?: string
  name?: string
  value?: { messageIds: string[] }
  code?: string
  result?: unknown
  outcome?: { type: string; interrupts?: Interrupt[]; pendingToolCallIds?: string[] }
  usage?: { inputTokens?: number; outputTokens?: number; totalTokens?: number }[]
  metadata?: { finishReason?: string; args?: unknown; error?: { code: string; message: string }; void?: true }
}

/** What a thread waits for. */
export interface Interrupt {
  id: string
  reason: string
  message?: string
  toolCallId?: string
}

/** A tool call as the client has it. */
export interface ThreadCall {
  readonly id: string
  readonly name: string
  readonly args: unknown
  readonly isClosed: boolean
}

// The client throws the error of a run unless a subscriber stops it.
const HANDLED: object = { stopPropagation: true }

/** The agent of the README of `@svc/ag-ui`, which can connect, with the events that it has applied. */
export class ThreadAgent extends HttpAgent {
  events: ThreadEvent[] = []

  constructor(config: ConstructorParameters<typeof HttpAgent>[0]) {
    super(config)
    this.subscribe({
      onEvent: ({ event }) => void this.events.push(event as ThreadEvent),
      onCustomEvent({ event: { name, value }, messages }) {
        const isVoid = new Set(name === 'void' ? (value as { messageIds: string[] }).messageIds : [])
        return isVoid.size > 0 ? { messages: messages.filter(({ id }) => !isVoid.has(id)) } : undefined
      },
      // A run that fails is no failure of the client.
      onRunFailed: () => (this.events.at(-1)?.type === 'RUN_ERROR' ? HANDLED : undefined)
    })
  }

  override connectAgent(...args: Parameters<HttpAgent['connectAgent']>) {
    this.messages = []
    this.pendingInterrupts = []
    this.events = []
    this.abortController = new AbortController()
    return super.connectAgent(...args)
  }

  protected override connect({ threadId, protocolVersion = '' }: RunAgentInput) {
    const query = new URLSearchParams({ protocolVersion })
    const url = `${this.url}/threads/${encodeURIComponent(threadId)}/connect?${query.toString()}`
    const { headers, abortController } = this
    return transformHttpEventStream(
      runHttpRequest(() => this.fetch!(url, { headers, signal: abortController.signal }))
    ) as ReturnType<HttpAgent['run']>
  }

  /** The run of the last events. */
  get lastRunId(): string | undefined {
    return this.events.findLast(({ type }) => type === 'RUN_STARTED')?.runId?.split('_')[0]
  }

  /** The calls of a run, in order. */
  callsOf(runId: string): ThreadCall[] {
    const made = this.messages.flatMap((message) => (message as AssistantMessage).toolCalls ?? [])
    const results = new Set(this.messages.map((each) => (each.role === 'tool' ? each.toolCallId : '')))
    return made
      .filter(({ id }) => id.startsWith(`${runId}-call-`))
      .map(({ id, function: { name, arguments: json } }) => ({
        id,
        name,
        args: parse(json),
        isClosed: results.has(id)
      }))
      .toSorted((one, other) => placeOf(one) - placeOf(other))
  }

  /** Reports a run; undefined if the thread does not show its end. */
  report(runId: string): Partial<Report> | undefined {
    const events = this.#eventsOf(runId)
    const end = events.findLast(({ type }) => type === 'RUN_FINISHED' || type === 'RUN_ERROR')
    const outcome = end?.outcome?.type
    if (end === undefined || outcome === 'interrupt' || (end.outcome?.pendingToolCallIds?.length ?? 0) > 0)
      return undefined
    const common = { text: this.#textOf(events), calls: this.#reportCalls(runId, events) }
    const asked = this.#askedLines(runId, events)
    if (end.type === 'RUN_ERROR') return { status: 'failed', code: end.code, ...common, asked }
    const counts = events.flatMap(({ usage = [] }) => usage)
    const sum = (field: 'inputTokens' | 'outputTokens' | 'totalTokens') =>
      counts.reduce((total, count) => total + (count[field] ?? 0), 0)
    return {
      status: outcome === 'cancelled' ? 'canceled' : 'completed',
      finishReason: end.metadata?.finishReason,
      ...common,
      asked,
      structured: end.result ?? null,
      usage: {
        promptTokens: sum('inputTokens'),
        completionTokens: sum('outputTokens'),
        totalTokens: sum('totalTokens')
      }
    }
  }

  // A part of a run after a wait has the id of the run, an underscore and a place.
  #eventsOf(runId: string): ThreadEvent[] {
    let of: string | undefined
    return this.events.filter((event) => {
      if (event.type === 'RUN_STARTED') of = event.runId?.split('_')[0]
      return of === runId
    })
  }

  #textOf(events: readonly ThreadEvent[]): string {
    const step = events.findLastIndex((event) => event.type === 'STEP_STARTED' && isOwn(event))
    const said = events
      .slice(step + 1)
      .filter((event) => event.type === 'TEXT_MESSAGE_START' && isOwn(event))
      .map(({ messageId }) => this.messages.find(({ id }) => id === messageId)?.content)
    return said.map((content) => (typeof content === 'string' ? content : '')).join('')
  }

  #reportCalls(runId: string, events: readonly ThreadEvent[]): ReportedCall[] {
    return this.callsOf(runId).map(({ id, name: tool, args }) => {
      const ofCall = events.filter(({ toolCallId }) => toolCallId === id)
      const changed = ofCall.findLast(({ metadata }) => metadata?.args !== undefined)?.metadata?.args
      const error = ofCall.findLast(({ metadata }) => metadata?.error !== undefined)?.metadata?.error
      const result = this.messages.find((each) => each.role === 'tool' && each.toolCallId === id)
      return {
        tool,
        args: changed ?? args,
        outcome: error ? outcomeOfError(error) : result && { result: result.content }
      }
    })
  }

  #askedLines(runId: string, events: readonly ThreadEvent[]): string[] {
    const calls = this.callsOf(runId)
    const interrupts = events.flatMap(({ outcome }) => outcome?.interrupts ?? [])
    return interrupts.map(({ id, reason, message, toolCallId }) =>
      reason === 'tool_call'
        ? approvalLine(id, calls.find((call) => call.id === toolCallId)?.name ?? '')
        : questionLine('question', message)
    )
  }
}

function isOwn({ subagentRunId }: ThreadEvent | BaseEvent): boolean {
  return subagentRunId === undefined
}

function placeOf({ id }: ThreadCall): number {
  return Number(/\d+$/.exec(id)![0])
}

// The arguments of a call that a cancellation has cut are no JSON.
function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
