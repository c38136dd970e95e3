import type OpenAI from 'openai'
import type { AgentSessionEvent, AgentSessionItem, TokenUsage } from 'openai/resources/beta/agents/agents'
import type { Turn } from 'openai/resources/beta/agents/sessions/turns/turns'
import { outcomeOfError } from './report-of-log.ts'
import {
  PICK,
  type Asked,
  type Report,
  type ReportedCall,
  type StartedRun,
  type Wire,
  type WireJob,
  type WireRun
} from './wire.ts'

const { input: parameters, ...pick } = PICK
const TOOLS = [{ type: 'function' as const, ...pick, parameters }]
const ENDS = new Set<string>(['completed', 'failed', 'cancelled'])

/** The Agents API with the client of OpenAI. */
export class AgentsWire implements Wire {
  readonly name = 'Agents API'
  readonly answersInTurn = true
  readonly needsSession = true
  readonly refusal = /Unknown pending/
  readonly hides = {
    asked: 'a session has what it waits for at the moment',
    order: 'members have items of their own',
    unendedCalls: 'a call without an outcome is incomplete, as is one that a repeated step made void',
    editedArgs: 'an approval has no arguments',
    resultTypes: 'outputs of functions are texts',
    structured: 'the text is its JSON',
    finishReason: 'turns have states only'
  }
  readonly #sessions: OpenAI['beta']['agents']['sessions']

  constructor(client: OpenAI) {
    this.#sessions = client.beta.agents.sessions
  }

  async start(job: WireJob): Promise<StartedRun> {
    const { input, callsClient } = job
    const sessionId = (await this.#known(job)) ?? (await this.#begin(job))
    if (callsClient) await this.#sessions.update(sessionId, { agent: { tools: TOOLS } })
    const stream = await this.#sessions.events.stream(sessionId)
    const message = { role: 'user' as const, content: [{ type: 'input_text' as const, text: input }] }
    const begun = Promise.withResolvers<string>()
    const read = async () => {
      for await (const event of stream) {
        if (event.type === 'agent.session.turn.created' && event.turn.subagent_id === null)
          begun.resolve(event.turn_id)
        if (isEnd(event, await begun.promise)) return undefined
      }
      return undefined
    }
    const rest = read()
    rest.catch(begun.reject)
    await this.#sessions.events.create(sessionId, {
      events: [{ type: 'agent.session.input.message', input: [message] }]
    })
    return { runId: await begun.promise, sessionId, rest }
  }

  async watch(run: WireRun, isLate: boolean, variant: number): Promise<Partial<Report>> {
    const { runId, sessionId } = run
    const place = { session_id: sessionId }
    if (isLate || variant < 0.5) {
      for (let seq = 0; ;) {
        const turn = await this.#find(run)
        if (turn !== undefined && ENDS.has(turn.status)) break
        seq = await run.beyond(seq)
      }
    } else await this.#follow(run)
    const turn = await this.#sessions.turns.retrieve(runId, place)
    const own = await all(this.#sessions.turns.items.list(runId, { ...place, order: 'asc' }))
    const items: AgentSessionItem[] = []
    for (const { id } of await all(this.#sessions.subagents.list(sessionId)))
      if (id.startsWith(`sub_${runId}_`))
        items.push(...(await all(this.#sessions.subagents.items.list(id, place))))
    return reportOf(turn, own, [...own, ...items], run.progress().lastStep)
  }

  async answer(
    { runId, sessionId }: WireRun,
    { id, kind, accept, content, toolCallId }: Asked
  ): Promise<void> {
    const decision = accept ? 'approve' : 'deny'
    if (kind === 'approval') {
      const response = { type: 'mcp_tool_call', decision } as const
      const type = 'agent.session.input.mcp_approval_request_result'
      return this.#sessions.events.create(sessionId, { events: [{ type, request_id: id, response }] })
    }
    const { required_actions: actions } = await this.#sessions.retrieve(sessionId)
    const call = actions.find(
      (action) =>
        action.type === 'function_call' &&
        (kind === 'tool' ? action.call_id.replace(/#\d+$/, '') === toolCallId : action.call_id === id)
    ) as { call_id: string; turn_id: string } | undefined
    const output = typeof content === 'string' ? content : JSON.stringify(content)
    await this.#sessions.events.create(sessionId, {
      events: [
        {
          type: 'agent.session.input.tool_result',
          turn_id: call?.turn_id ?? runId,
          call_id: call?.call_id ?? id,
          success: accept,
          ...(accept && { output })
        }
      ]
    })
  }

  async cancel({ sessionId }: WireRun): Promise<void> {
    await this.#sessions.events.create(sessionId, { events: [{ type: 'agent.session.input.cancel' }] })
  }

  // Some wires leave no session.
  async #known({ sessionId }: WireJob): Promise<string | undefined> {
    return sessionId && (await orMissing(this.#sessions.retrieve(sessionId)))?.id
  }

  async #begin({ kind, name }: WireJob): Promise<string> {
    const agent_id = kind === 'agent' ? name : `${kind}/${name}`
    return (await this.#sessions.create({ agent_id, environment: { type: 'none' } })).id
  }

  // A session may not be there yet.
  async #find({ runId, sessionId }: WireRun): Promise<Turn | undefined> {
    return orMissing(this.#sessions.turns.retrieve(runId, { session_id: sessionId }))
  }

  async #follow(run: WireRun): Promise<void> {
    for (let seq = 0; (await this.#find(run)) === undefined;) seq = await run.beyond(seq)
    const stream = await this.#sessions.events.stream(run.sessionId)
    try {
      const turn = await this.#find(run)
      if (turn === undefined || ENDS.has(turn.status)) return
      for await (const event of stream) if (isEnd(event, run.runId)) return
    } finally {
      stream.controller.abort()
    }
  }
}

function orMissing<T>(found: Promise<T>): Promise<T | undefined> {
  return found.catch((err: unknown) => {
    if ((err as { status?: number }).status === 404) return undefined
    throw err
  })
}

function isEnd(event: AgentSessionEvent, turnId: string): boolean {
  return (
    event.type.startsWith('agent.session.turn.') &&
    'turn' in event &&
    event.turn_id === turnId &&
    ENDS.has(event.turn.status)
  )
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

function reportOf(
  { status, error, usage }: Turn,
  own: readonly AgentSessionItem[],
  items: readonly AgentSessionItem[],
  lastStep: number
): Partial<Report> {
  const common = { text: textOf(own, lastStep), calls: callsOf(items) }
  if (status === 'failed') return { status, code: /\((\w+)\)$/.exec(error?.message ?? '')?.[1], ...common }
  return {
    status: status === 'cancelled' ? 'canceled' : status,
    ...common,
    ...(usage && { usage: toUsage(usage) })
  }
}

// The id of a message has the place in the log at which it begins.
function textOf(items: readonly AgentSessionItem[], lastStep: number): string {
  return items
    .flatMap((item) =>
      item.type === 'message' && item.role === 'assistant' && Number(item.id!.split('_').at(-1)) > lastStep
        ? item.content
        : []
    )
    .map((content) => (content.type === 'output_text' ? content.text : ''))
    .join('')
}

function callsOf(items: readonly AgentSessionItem[]): ReportedCall[] {
  const outputs = items.filter((item) => item.type === 'function_call_output')
  return items.flatMap((item) => {
    if (item.type === 'mcp_call' && item.status !== 'incomplete')
      return [{ tool: item.name, args: item.arguments, outcome: servedOutcome(item) }]
    if (item.type !== 'function_call' || item.status === 'incomplete') return []
    const output = outputs.find(({ call_id: id, turn_id: of }) => id === item.call_id && of === item.turn_id)
    const outcome = output?.error ? { error: output.error } : output && { result: output.output }
    return [{ tool: item.name, args: item.arguments, outcome }]
  })
}

function servedOutcome({ status, output, error }: { status: string; output: unknown; error: unknown }) {
  if (status === 'failed') return outcomeOfError(error as { code: string; message: string })
  return status === 'completed' ? { result: output } : undefined
}

function toUsage({
  input_tokens: promptTokens,
  output_tokens: completionTokens,
  total_tokens: totalTokens
}: TokenUsage) {
  return { promptTokens, completionTokens, totalTokens }
}
