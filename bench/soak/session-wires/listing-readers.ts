import type { BetaManagedAgentsStreamSessionEvents as StreamEvent } from '@anthropic-ai/sdk/resources/beta/sessions/events'
import type { AgentSessionItem } from 'openai/resources/beta/agents/agents'
import { agentsOf, ask, collect, managedOf } from './clients.ts'
import { Connections, type Reading } from './connections.ts'
import type { PlayedSession } from './played-session.ts'

type ManagedEvent = Exclude<StreamEvent, { type: 'event_start' | 'event_delta' }>

const PAGE = 50

/** A reader by the pattern of a vendor: open the stream, list, drop what is known by its id. */
export interface ListingReader {
  readonly connections: Connections
  /** What it knows, by its id, as JSON. */
  readonly known: ReadonlyMap<string, string>
  /** All turns are over: reads on until it has listed once more. */
  end(): void
}

/** The pattern over the Managed Agents API. */
export class ManagedListing implements ListingReader {
  readonly known = new Map<string, string>()
  readonly connections: Connections
  readonly #session: PlayedSession
  #said = ''
  #turns = 0
  #isLast = false

  constructor(session: PlayedSession, reading: Reading) {
    this.#session = session
    this.connections = new Connections(reading, (url, take, signal) => this.#read(url, take, signal))
  }

  end(): void {
    this.#isLast = true
  }

  async #read(url: string, take: () => boolean, signal: AbortSignal): Promise<void> {
    const { events } = managedOf(url)
    const { id } = this.#session
    const isLast = this.#isLast
    const stream = await ask(() => events.stream(id, {}, { signal }))
    try {
      for (const event of await ask(() => collect(events.list(id, { limit: PAGE })))) this.#take(event)
      if (isLast) return this.connections.end()
      const seen = new Set<string>()
      for await (const event of stream) {
        if (!('id' in event)) continue
        if (seen.has(event.id)) this.connections.fail(`${event.type} ${event.id} came twice in a stream`)
        seen.add(event.id)
        this.#take(event)
        if (!take()) return
      }
    } finally {
      stream.controller.abort()
    }
  }

  #take(event: ManagedEvent): void {
    if (this.known.has(event.id)) return
    this.known.set(event.id, JSON.stringify(event))
    if (event.type === 'agent.message')
      this.#said = event.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
    if (event.type !== 'session.status_idle' || event.stop_reason.type === 'requires_action') return
    const answer = this.#session.answers[this.#turns++]
    if (this.#said !== answer) this.connections.fail(`idle behind "${this.#said}" instead of "${answer}"`)
  }
}

/** The pattern over the Agents API, whose lists have items. */
export class AgentsListing implements ListingReader {
  readonly known = new Map<string, string>()
  readonly connections: Connections
  readonly #session: PlayedSession
  readonly #final = new Set<string>()
  #isLast = false

  constructor(session: PlayedSession, reading: Reading) {
    this.#session = session
    this.connections = new Connections(reading, (url, take, signal) => this.#read(url, take, signal))
  }

  end(): void {
    this.#isLast = true
  }

  async #read(url: string, take: () => boolean, signal: AbortSignal): Promise<void> {
    const { events, items } = agentsOf(url)
    const { id } = this.#session
    const isLast = this.#isLast
    const stream = await ask(() => events.stream(id, {}, { signal }))
    try {
      for (const item of await ask(() => collect(items.list(id, { order: 'asc', limit: PAGE }))))
        this.#take(item)
      if (isLast) return this.connections.end()
      const seen = new Set<string>()
      for await (const event of stream) {
        if (seen.has(event.event_id)) this.connections.fail(`${event.event_id} came twice in a stream`)
        seen.add(event.event_id)
        if (event.type === 'agent.session.turn.item.added' || event.type === 'agent.session.turn.item.done')
          this.#take(event.item)
        if (event.type === 'agent.session.turn.completed' && !this.#final.has(event.turn_id))
          this.connections.fail(`turn ${event.turn_id} was completed before its answer`)
        if (event.type === 'agent.session.idle') await this.#compareIdle(url)
        if (!take()) return
      }
    } finally {
      stream.controller.abort()
    }
  }

  // What was streamed up to the end of a turn, the list has.
  async #compareIdle(url: string): Promise<void> {
    const { items } = agentsOf(url)
    const listed = await ask(() => collect(items.list(this.#session.id, { order: 'asc', limit: PAGE })))
    const ids = new Set(listed.map(({ id }) => id))
    for (const [id, item] of this.known)
      if (!ids.has(id)) this.connections.fail(`the session was idle before its list had ${item}`)
  }

  #take(item: AgentSessionItem): void {
    this.known.set(item.id!, JSON.stringify(item))
    if (item.type !== 'message' || item.role !== 'assistant' || item.status !== 'completed') return
    const text = item.content.map((part) => ('text' in part ? part.text : '')).join('')
    if (this.#session.answers.includes(text)) this.#final.add(item.turn_id!)
  }
}
