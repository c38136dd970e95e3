import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registryPlugin, { createRegistry, isTerminalStatus, type SessionKey } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import type { ModelCall } from '../agents/read-prompt.ts'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Random } from '../random.ts'

/** Where the sessions of a service are: in memory, in a file of SQLite, or in Postgres, on two nodes. */
export type ChannelStore = 'memory' | 'sqlite' | { readonly postgres: string }

/** A part of the channel as the logs have it. */
export interface TruePart {
  readonly id: string
  readonly runId: string
  /** The JSON of the part. */
  readonly json: string
}

/** A node that serves, and its address. */
interface Node {
  readonly app: FastifyInstance
  readonly origin: string
}

const LEASE = { ttl: 3_000, beat: 200 }
// Milliseconds until what failed is tried again.
const RETRY = 10

/** Nodes with one agent, whose answers are as its messages ask. */
export class ChannelService {
  readonly #store: ChannelStore
  readonly #directory = mkdtempSync(join(tmpdir(), 'channel-'))
  readonly #schema = `channel_${randomUUID().slice(0, 8)}`
  readonly #registryId = `channel-${randomUUID()}`
  #nodes: Node[] = []
  #replacing: Promise<unknown> = Promise.resolve()

  private constructor(where: ChannelStore) {
    this.#store = where
  }

  static async open(where: ChannelStore): Promise<ChannelService> {
    const service = new ChannelService(where)
    const count = typeof where === 'object' ? 2 : 1
    for (let n = 0; n < count; n++) service.#nodes.push(await service.#start())
    return service
  }

  /** The address of one of the nodes. */
  origin(random: Random): string {
    return random.pick(this.#nodes).origin
  }

  /** Sends a message of random length and pace until it is accepted; resolves with the id of its run. */
  async say(sessionId: string, random: Random): Promise<string> {
    const input = `${random.below(8) + 1} ${random.below(3)} ${random.chance(0.1) ? 'fail' : 'end'}`
    const headers = {
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
      prefer: 'respond-async'
    }
    const body = JSON.stringify({ input, sessionId, onDisconnect: 'continue' })
    return this.#retry(async () => {
      const url = `${this.origin(random)}/api/agents/talker/run`
      const response = await fetch(url, { method: 'POST', headers, body })
      const { runId, code } = (await response.json()) as { runId?: string; code?: string }
      if (runId === undefined) throw new Error(code)
      return runId
    })
  }

  /** Cancels a run, if it has not ended. */
  async cancel(runId: string, random: Random): Promise<void> {
    await this.#retry(() =>
      fetch(`${this.origin(random)}/api/runs/${runId}/cancel`, { method: 'POST' }).then((it) => it.text())
    )
  }

  async untilEnd(runId: string): Promise<void> {
    await this.#retry(async () => {
      const run = await this.#nodes[0]!.app.runs.find(runId)
      if (run === undefined || !isTerminalStatus(run.status)) throw new Error('not ended yet')
    })
  }

  /** The parts of all runs of a session, from their logs. */
  async truthOf(sessionId: string): Promise<TruePart[]> {
    const { runs } = this.#nodes[0]!.app
    const key: SessionKey = {
      registry: this.#registryId,
      kind: 'agent',
      name: 'talker',
      owner: 'anonymous',
      sessionId
    }
    const parts: TruePart[] = []
    for (const { ordinal, runId } of await runs.stores.sessionIndex!.runs(key, 0, 1_000))
      for await (const part of runs.parts(runId))
        parts.push({ id: `${ordinal}.${part.seq}`, runId, json: JSON.stringify(part) })
    return parts
  }

  /** Closes a node, and opens another one on the same store. */
  async restart(random: Random): Promise<void> {
    const at = random.below(this.#nodes.length)
    this.#replacing = this.#replacing.then(async () => {
      await this.#nodes[at]!.app.close()
      this.#nodes[at] = await this.#start()
    })
    await this.#replacing
  }

  async close(): Promise<void> {
    await this.#replacing
    await Promise.all(this.#nodes.map(({ app }) => app.close()))
    rmSync(this.#directory, { recursive: true, force: true })
  }

  async #retry<T>(attempt: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await attempt()
      } catch {
        await pause(RETRY)
      }
    }
  }

  async #start(): Promise<Node> {
    const app = Fastify({ forceCloseConnections: true })
    if (this.#store === 'sqlite')
      await app.register(store, { url: `sqlite:${join(this.#directory, 'channel.db')}` })
    if (typeof this.#store === 'object')
      await app.register(store, { url: this.#store.postgres, schema: this.#schema, lease: LEASE })
    const registry = createRegistry({ id: this.#registryId })
    registry.add(createTalker())
    await app.register(registryPlugin, { registry, drainTimeout: 0, closeDelay: 0 })
    await app.register(http, { prefix: '/api' })
    await app.register(gateway, { transports: ['websocket'] })
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    return { app, origin }
  }
}

// A message says how many increments, how many milliseconds between them, and whether the model then fails.
function createTalker(): Agent {
  const model = scriptedModel(
    ({ prompt }) => {
      const [count = '1', delay = '0', end] = textOf(prompt.at(-1)!).split(' ')
      const text = Array.from({ length: Number(count) }, (_, at) => `word ${at} `)
      return end === 'fail' ? { text, errorPart: new Error('as asked') } : { text, delay: Number(delay) }
    },
    { record: false }
  )
  return new Agent({ name: 'talker', model, register: false })
}

function textOf({ content }: ModelCall['prompt'][number]): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
