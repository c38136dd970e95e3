import type { BetaManagedAgentsStreamSessionEvents as ManagedEvent } from '@anthropic-ai/sdk/resources/beta/sessions/events'
import type { AgentSessionEvent } from 'openai/resources/beta/agents/agents'
import { readEvents } from '../../../test/helpers/wires/read-log.ts'
import type { Reach } from '../cluster/reach.ts'
import { agentsOf, ask, managedOf, STREAMS, type SessionWire } from './clients.ts'
import { Connections, type Reading } from './connections.ts'

/** A message of a stream. */
export interface Message {
  readonly id: string
  readonly data: string
}

/** A reader that continues with the id of its last message, and answers what the session asks for. */
export class ResumingReader {
  /** In the order in which they came. */
  readonly messages: Message[] = []
  readonly connections: Connections
  readonly #wire: SessionWire
  readonly #sessionId: string
  readonly #reach: Reach
  readonly #answers: Promise<void>[] = []
  #turns = 0
  #last = Infinity

  constructor(wire: SessionWire, sessionId: string, reading: Reading) {
    this.#wire = wire
    this.#sessionId = sessionId
    this.#reach = reading.reach
    this.connections = new Connections(reading, (url, take, signal) => this.#read(url, take, signal))
  }

  /** Reads until the end of so many turns has come. */
  endAfter(turns: number): void {
    this.#last = turns
    if (this.#turns >= turns) this.connections.end()
  }

  /** Resolves once it has read all turns, and given its answers. */
  async follow(): Promise<void> {
    await this.connections.follow()
    await Promise.all(this.#answers)
  }

  async #read(url: string, take: () => boolean, signal: AbortSignal): Promise<void> {
    const { path, headers } = STREAMS[this.#wire]
    const reply = await ask(async () => {
      const after = { 'last-event-id': this.messages.at(-1)?.id ?? '0.0' }
      const found = await fetch(url + path(this.#sessionId), { headers: { ...headers, ...after }, signal })
      if (found.ok) return found
      throw Object.assign(new Error(await found.text()), { status: found.status })
    })
    for await (const { id, data } of readEvents(reply)) {
      this.messages.push({ id: id ?? '', data })
      this.#look(JSON.parse(data) as AgentSessionEvent | ManagedEvent)
      if (!take()) return
    }
  }

  #look(event: AgentSessionEvent | ManagedEvent): void {
    if (event.type === 'agent.session.requires_action') this.#answerAgents(event)
    if (event.type === 'session.status_idle' && event.stop_reason.type === 'requires_action')
      this.#answerManaged(event.stop_reason.event_ids)
    else if (event.type === 'session.status_idle' || event.type === 'agent.session.idle')
      if (++this.#turns >= this.#last) this.connections.end()
  }

  #answerAgents({ session }: Extract<AgentSessionEvent, { type: 'agent.session.requires_action' }>): void {
    for (const action of session.required_actions) {
      if (action.type !== 'mcp_approval_request') continue
      const type = 'agent.session.input.mcp_approval_request_result'
      const response = { type: 'mcp_tool_call', decision: 'approve' } as const
      const events = [{ type, request_id: action.request_id, response } as const]
      this.#answer((url) => agentsOf(url).events.create(this.#sessionId, { events }))
    }
  }

  #answerManaged(ids: readonly string[]): void {
    for (const tool_use_id of ids) {
      const events = [{ type: 'user.tool_confirmation', tool_use_id, result: 'allow' } as const]
      this.#answer(async (url) => {
        try {
          await managedOf(url).events.send(this.#sessionId, { events })
        } catch (err) {
          // Another reader, or an attempt whose reply was lost, was first.
          if (!(err as Error).message.includes('ANTHROPIC_ERR_ANSWERED')) throw err
        }
      })
    }
  }

  #answer(send: (url: string) => PromiseLike<void>): void {
    const sent = this.#reach.persist((url) => ask(() => send(url)))
    this.#answers.push(
      sent.catch((err: Error) => this.connections.fail(`an answer was refused: ${err.message}`))
    )
  }
}
