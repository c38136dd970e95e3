import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registryPlugin, { createRegistry, type RunStatus, type WhenBusy } from '@svc/registry'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import Fastify, { type FastifyInstance } from 'fastify'
import { io, type Socket } from 'socket.io-client'
import type { ModelCall } from '../agents/read-prompt.ts'
import type { Random } from '../random.ts'

/** Where sessions are: in memory, or in Postgres, on two nodes. */
export type BusyStore = 'memory' | { readonly postgres: string }

/** What a message came to. */
export interface Accepted {
  /** Undefined if it was refused. */
  readonly runId?: string
  /** Undefined if the surface does not say. */
  readonly joined?: boolean
}

/** How a run ended, and the message that began it. */
export interface EndedRun {
  readonly status: RunStatus
  readonly message: string
}

/** One item of a prompt. */
export type PromptItem =
  | { readonly user: string }
  | { readonly said: string }
  | { readonly call: string }
  | { readonly outcome: string }

/** A call of the model: when it began, and what it was given. */
export interface SeenCall {
  readonly at: number
  readonly items: readonly PromptItem[]
}

interface Node {
  readonly app: FastifyInstance
  readonly origin: string
  readonly sockets: readonly Socket[]
}

const LEASE = { ttl: 3_000, beat: 200 }
// A socket follows a limited number of runs.
const SOCKETS = 20
const SURFACES = ['http', 'socket', 'a2a'] as const

/** Nodes with one agent, that clients reach over three surfaces. A message is its id, a pace in milliseconds, and whether a tool is called. */
export class BusyService {
  readonly #store: BusyStore
  readonly #schema = `busy_${randomUUID().slice(0, 8)}`
  readonly #registryId = `busy-${randomUUID()}`
  readonly #nodes: Node[] = []
  /** The calls of the model, by the sessions that the ids of messages begin with. */
  readonly calls = new Map<string, SeenCall[]>()
  #clock = 0

  private constructor(where: BusyStore) {
    this.#store = where
  }

  static async open(where: BusyStore): Promise<BusyService> {
    const service = new BusyService(where)
    const count = typeof where === 'object' ? 2 : 1
    for (let n = 0; n < count; n++) service.#nodes.push(await service.#start())
    return service
  }

  /** The next moment, later than all before. */
  tick(): number {
    return ++this.#clock
  }

  /** Sends a message over any surface of any node. */
  async send(sessionId: string, text: string, whenBusy: WhenBusy, random: Random): Promise<Accepted> {
    const node = random.pick(this.#nodes)
    const surface = random.pick(SURFACES)
    if (surface === 'http') return sendOverHttp(node, sessionId, text, whenBusy)
    if (surface === 'a2a') return sendOverA2a(node, sessionId, text, whenBusy)
    const payload = { name: 'talker', input: text, sessionId, whenBusy }
    return toAccepted(await random.pick(node.sockets).emitWithAck('agent.run', payload))
  }

  /** Waits for the end of a run. */
  async ended(runId: string): Promise<EndedRun> {
    const { runs } = this.#nodes[0]!.app
    let message = ''
    for await (const part of runs.parts(runId))
      if (part.type === 'start') message = String(part.input).split(' ', 1)[0]!
    return { status: (await runs.find(runId))!.status, message }
  }

  async close(): Promise<void> {
    for (const { sockets } of this.#nodes) for (const socket of sockets) socket.disconnect()
    await Promise.all(this.#nodes.map(({ app }) => app.close()))
  }

  async #start(): Promise<Node> {
    const app = Fastify({ forceCloseConnections: true })
    if (typeof this.#store === 'object')
      await app.register(store, { url: this.#store.postgres, schema: this.#schema, lease: LEASE })
    const registry = createRegistry({ id: this.#registryId })
    registry.add(this.#createTalker())
    await app.register(registryPlugin, { registry, drainTimeout: 0, closeDelay: 0 })
    await app.register(http, { prefix: '/api' })
    await app.register(gateway, { transports: ['websocket'] })
    await app.register(a2a, { basePath: '/a2a' })
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    const sockets = await Promise.all(Array.from({ length: SOCKETS }, () => connect(origin)))
    return { app, origin, sockets }
  }

  #createTalker(): Agent {
    const model = scriptedModel(
      ({ prompt }) => {
        const items = prompt.flatMap(toItems)
        const asked = items.flatMap((item) => ('user' in item ? [item.user] : []))
        const [id = '', pace = '0', tool] = (asked.at(-1) ?? '').split(' ')
        const session = id.split('.', 1)[0]!
        const calls = this.calls.get(session) ?? []
        this.calls.set(session, calls)
        calls.push({ at: this.tick(), items })
        const delay = Number(pace)
        if (tool === 'tool' && 'user' in items.at(-1)!)
          return {
            text: 'wait',
            delay,
            toolCalls: [{ toolName: 'wait', args: {}, toolCallId: `call ${id}` }]
          }
        return { text: ['do', 'ne ', id], delay }
      },
      { record: false }
    )
    const tool = defineTool({ name: 'wait', description: 'Waits', input: Type.Object({}), execute })
    return new Agent({ name: 'talker', model, tools: [tool], register: false })
  }
}

async function connect(origin: string): Promise<Socket> {
  const socket = io(origin, { transports: ['websocket'], forceNew: true })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('connect_error', reject)
  })
  return socket
}

const execute = () => pause(3).then(() => 'waited')

function toItems(
  { content }: ModelCall['prompt'][number],
  _at: number,
  prompt: ModelCall['prompt']
): PromptItem[] {
  const { role } = prompt[_at]!
  if (typeof content === 'string') return []
  return content.flatMap((part): PromptItem[] => {
    if (part.type === 'text') return [role === 'user' ? { user: part.text } : { said: part.text }]
    if (part.type === 'tool-call') return [{ call: part.toolCallId }]
    return part.type === 'tool-result' ? [{ outcome: part.toolCallId }] : []
  })
}

async function post({ origin }: Node, path: string, body: unknown, headers = {}): Promise<unknown> {
  const response = await fetch(origin + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body)
  })
  return response.json()
}

async function sendOverHttp(
  node: Node,
  sessionId: string,
  input: string,
  whenBusy: WhenBusy
): Promise<Accepted> {
  const headers = { prefer: 'respond-async' }
  return toAccepted(await post(node, '/api/agents/talker/run', { input, sessionId, whenBusy }, headers))
}

async function sendOverA2a(
  node: Node,
  contextId: string,
  text: string,
  whenBusy: WhenBusy
): Promise<Accepted> {
  const messageId = text.split(' ', 1)[0]!
  const parts = [{ kind: 'text', text }]
  const message = { kind: 'message', role: 'user', messageId, contextId, parts, metadata: { whenBusy } }
  const params = { message, configuration: { blocking: false } }
  const call = { jsonrpc: '2.0', id: 1, method: 'message/send', params }
  const { result, error } = (await post(node, '/a2a', call)) as {
    result?: { id: string }
    error?: { data?: object }
  }
  return result === undefined ? toAccepted({ ...error?.data }) : { runId: result.id }
}

function toAccepted(answer: unknown): Accepted {
  const { runId, joined, code } = answer as { runId?: string; joined?: boolean; code?: string }
  if (code === 'RUN_ERR_SESSION_BUSY') return {}
  if (runId === undefined) throw new Error(`a message was not accepted: ${JSON.stringify(answer)}`)
  return { runId, joined: joined === true }
}
