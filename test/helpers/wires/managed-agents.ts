import Anthropic, { APIError } from '@anthropic-ai/sdk'
import type {
  BetaManagedAgentsSessionEvent as SessionEvent,
  BetaManagedAgentsUserCustomToolResultEventParams as CustomToolResult,
  BetaManagedAgentsUserToolConfirmationEventParams as Confirmation
} from '@anthropic-ai/sdk/resources/beta/sessions/events'
import anthropic from '@svc/anthropic'
import { answerTo } from '../../../bench/soak/agents/plan.ts'
import { outcomeOfError } from './report-of-log.ts'
import {
  PICK,
  type Report,
  type ReportedCall,
  type StartedRun,
  type Wire,
  type WireAdapter,
  type WireJob,
  type WireRun
} from './wire.ts'

/** The Managed Agents API with the SDK of Anthropic. */
export const managedAgentsWire: WireAdapter = {
  package: '@svc/anthropic',
  async register(app, registry) {
    await app.register(anthropic, { prefix: '/managed', registry, clientTools: true })
  },
  async connect(origin) {
    const options = { baseURL: `${origin}/managed`, apiKey: 'none', maxRetries: 0, logLevel: 'off' } as const
    return [new ManagedAgentsWire(new Anthropic(options))]
  }
}

const { input: input_schema, ...pick } = PICK
const TOOLS = [
  { type: 'custom' as const, ...pick, input_schema: { ...input_schema, type: 'object' as const } }
]
type ToolUse = Extract<SessionEvent, { type: 'agent.tool_use' | 'agent.custom_tool_use' }>

class ManagedAgentsWire implements Wire {
  readonly name = 'Managed Agents'
  readonly answersByPlan = true
  readonly needsSession = true
  readonly refusal = /ANTHROPIC_ERR_ANSWERED/
  readonly hides = {
    usage: 'sessions count tokens over all their runs',
    finishReason: 'the protocol has one reason for the ends of turns',
    structured: 'the text is its JSON',
    asked: 'approvals have the id of their call',
    editedArgs: 'confirmations change no arguments',
    resultTypes: 'results are texts',
    order: 'a call stands where it is known whether it waits for an approval',
    unendedCalls: 'a call that may wait for an approval stands where it does, or ends'
  }
  readonly #client: Anthropic

  constructor(client: Anthropic) {
    this.#client = client
  }

  async start(job: WireJob): Promise<StartedRun> {
    const { sessions } = this.#client.beta
    const sessionId = await this.#sessionOf(job)
    if (job.callsClient) await sessions.update(sessionId, { agent: { tools: TOOLS } })
    const text = { type: 'text' as const, text: job.input }
    const { data } = await sessions.events.send(sessionId, {
      events: [{ type: 'user.message', content: [text] }]
    })
    const runId = /^sevt_(.+)_1$/.exec(data![0]!.id)![1]!
    return { runId, sessionId, rest: this.#follow({ runId, sessionId }) }
  }

  async watch(run: WireRun): Promise<Partial<Report>> {
    return this.#follow(run)
  }

  // A client answers all that its session asks for.
  async answer({ runId, sessionId }: WireRun): Promise<void> {
    const { events } = this.#client.beta.sessions
    const all = await collect(events.list(sessionId, { limit: 1000 }))
    const answered = new Set(all.flatMap((event) => answeredBy(event) ?? []))
    const open = all.filter((event): event is ToolUse => isOf(runId, event) && isAsking(event))
    const sent = await Promise.allSettled(
      open
        .filter(({ id }) => !answered.has(id))
        .map((use) => events.send(sessionId, { events: [toAnswer(use)] }))
    )
    const refused = sent.find((each) => each.status === 'rejected')
    if (refused !== undefined) throw refused.reason
  }

  async cancel({ sessionId }: WireRun): Promise<void> {
    await this.#client.beta.sessions.events.send(sessionId, { events: [{ type: 'user.interrupt' }] })
  }

  async #sessionOf({ kind, name, sessionId }: WireJob): Promise<string> {
    const { sessions } = this.#client.beta
    if (sessionId !== undefined) {
      const found = await sessions.retrieve(sessionId).catch((err: unknown) => {
        if (!(err instanceof APIError) || err.status !== 404) throw err
        return undefined
      })
      if (found !== undefined) return found.id
    }
    const agent = kind === 'agent' ? name : `${kind}/${name}`
    return (await sessions.create({ agent, environment_id: 'env_service' })).id
  }

  // The pattern of the vendor: open the stream, list, drop what is known.
  async #follow({ runId, sessionId }: Pick<WireRun, 'runId' | 'sessionId'>): Promise<Partial<Report>> {
    const { events } = this.#client.beta.sessions
    const isEnd = (event: SessionEvent) =>
      isOf(runId, event) &&
      event.type === 'session.status_idle' &&
      event.stop_reason.type !== 'requires_action'
    const stream = await events.stream(sessionId)
    const listed = await collect(events.list(sessionId, { limit: 1000 }))
    if (!listed.some(isEnd)) {
      for await (const event of stream) if ('id' in event && isEnd(event)) break
    }
    stream.controller.abort()
    return this.#report(runId, sessionId)
  }

  async #report(runId: string, sessionId: string): Promise<Partial<Report>> {
    const { events, threads } = this.#client.beta.sessions
    const own = await collect(events.list(sessionId, { limit: 1000 }))
    const ofRun = own.filter((event) => isOf(runId, event))
    const all = new Map(own.map((event) => [event.id, event]))
    for (const { id } of await collect(threads.list(sessionId, { limit: 1000 }))) {
      if (!id.startsWith(`sthr_${runId}_`)) continue
      const ids = { session_id: sessionId, limit: 1000 }
      for (const event of await collect(threads.events.list(id, ids))) all.set(event.id, event)
    }
    const step = ofRun.findLastIndex(({ type }) => type === 'span.model_request_start')
    const text = ofRun.slice(step + 1).map((event) => (event.type === 'agent.message' ? textOf(event) : ''))
    const failure = ofRun.find((event) => event.type === 'session.error')
    const isCanceled = ofRun.some(({ type }) => type === 'user.interrupt')
    return {
      status: failure ? 'failed' : isCanceled ? 'canceled' : 'completed',
      code: failure && /^\w+/.exec(failure.error.message)![0],
      text: text.join(''),
      calls: callsOf(runId, [...all.values()])
    }
  }
}

async function collect<T>(list: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of list) all.push(item)
  return all
}

function isOf(runId: string, { id }: { id: string }): boolean {
  return id.startsWith(`sevt_${runId}_`)
}

function isAsking(event: SessionEvent): boolean {
  return (
    event.type === 'agent.custom_tool_use' ||
    (event.type === 'agent.tool_use' && event.evaluated_permission === 'ask')
  )
}

function answeredBy(event: SessionEvent): string | undefined {
  if (event.type === 'user.tool_confirmation') return event.tool_use_id
  return event.type === 'user.custom_tool_result' ? event.custom_tool_use_id : undefined
}

function toAnswer({ id, type, name, input }: ToolUse): Confirmation | CustomToolResult {
  const { key, message } = input as { key?: string; message?: string }
  const { accept, choice } = answerTo(key ?? /for (.*)\?/.exec(message!)![1]!)
  if (type === 'agent.tool_use')
    return { type: 'user.tool_confirmation', tool_use_id: id, result: accept ? 'allow' : 'deny' }
  const text = name === 'pick' ? `picked ${choice}` : JSON.stringify({ choice })
  const result = accept ? { content: [{ type: 'text' as const, text }] } : { is_error: true }
  return { type: 'user.custom_tool_result', custom_tool_use_id: id, ...result }
}

function textOf({ content = [] }: { content?: readonly object[] }): string {
  return content.map((block) => ('text' in block ? String(block.text) : '')).join('')
}

function callsOf(runId: string, events: readonly SessionEvent[]): ReportedCall[] {
  const outcomes = new Map<string, ReportedCall['outcome']>()
  for (const event of events) {
    const id = event.type === 'agent.tool_result' ? event.tool_use_id : answeredBy(event)
    if (id === undefined || event.type === 'user.tool_confirmation') continue
    const { is_error: isError } = event as { is_error?: boolean }
    const text = textOf(event as { content?: object[] })
    outcomes.set(id, isError === true ? failureOf(text) : { result: text })
  }
  return events
    .filter((event): event is ToolUse => isOf(runId, event) && 'input' in event)
    .filter(({ name }) => name !== 'ask_user')
    .map(({ id, name, input }) => ({ tool: name, args: input, outcome: outcomes.get(id) }))
}

function failureOf(text: string): ReportedCall['outcome'] {
  const [, code = '', message = text] = /^(\w+): ([^]*)$/.exec(text) ?? []
  return outcomeOfError({ code, message })
}
