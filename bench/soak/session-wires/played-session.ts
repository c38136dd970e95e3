import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Reach } from '../cluster/reach.ts'
import { answerTo } from '../cluster/shown.ts'
import type { Random } from '../random.ts'
import { agentsOf, ask, collect, managedOf, type SessionWire } from './clients.ts'

const TOOLS = ['', '', ' look', ' send', ' look send'] as const
const ENDS = new Set<string>(['completed', 'failed', 'cancelled'])
const POLL = 100

/** A session whose client sends messages over both wires, each with a key, until it is acknowledged. */
export class PlayedSession {
  readonly id: string
  /** The messages that were sent, in order. */
  readonly messages: string[] = []
  readonly #reach: Reach
  readonly #random: Random

  private constructor(id: string, reach: Reach, random: Random) {
    this.id = id
    this.#reach = reach
    this.#random = random
  }

  /** Begins a session of the agent `pupil` over one of the wires. */
  static async begin(reach: Reach, random: Random): Promise<PlayedSession> {
    const isManaged = random.chance(0.5)
    const headers = { 'idempotency-key': randomUUID() }
    const { id } = await reach.persist((url) =>
      ask<{ id: string }>(() =>
        isManaged
          ? managedOf(url).create({ agent: 'pupil', environment_id: 'env_service' })
          : agentsOf(url).create({ agent_id: 'pupil', environment: { type: 'none' } }, { headers })
      )
    )
    return new PlayedSession(id, reach, random)
  }

  /** What the agent answers to each message. */
  get answers(): string[] {
    return this.messages.map((message) => answerTo(message.split(' ')[0]!))
  }

  /** Sends the next message: over Managed Agents it may wait for the turns before it, over the Agents API it would join them. */
  async say(): Promise<void> {
    const text = `${this.id.slice(-8)}.${this.messages.length}${this.#random.pick(TOOLS)}`
    const wire: SessionWire = this.#random.chance(0.5) ? 'agents' : 'managed'
    if (wire === 'agents') await this.untilOver()
    this.messages.push(text)
    const headers = { 'idempotency-key': randomUUID() }
    await this.#reach.persist((url) =>
      ask<unknown>(() => (wire === 'agents' ? sendAgents : sendManaged)(url, this.id, text, headers))
    )
  }

  /** Resolves once the turns of all messages are over. */
  async untilOver(): Promise<void> {
    for (;;) {
      const turns = await this.#reach.persist((url) =>
        ask(() => collect(agentsOf(url).turns.list(this.id, { limit: 100 })))
      )
      if (turns.length >= this.messages.length && turns.every(({ status }) => ENDS.has(status))) return
      await pause(POLL)
    }
  }
}

type Send = (
  url: string,
  sessionId: string,
  text: string,
  headers: Record<string, string>
) => PromiseLike<unknown>

const sendAgents: Send = (url, sessionId, text, headers) => {
  const message = { role: 'user' as const, content: [{ type: 'input_text' as const, text }] }
  const events = [{ type: 'agent.session.input.message' as const, input: [message] }]
  return agentsOf(url).events.create(sessionId, { events }, { headers })
}

const sendManaged: Send = (url, sessionId, text, headers) => {
  const events = [{ type: 'user.message' as const, content: [{ type: 'text' as const, text }] }]
  return managedOf(url).events.send(sessionId, { events }, { headers })
}
