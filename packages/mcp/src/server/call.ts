import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { codeOf, type Principal, type RunLog } from '@svc/contract'
import {
  logFault,
  reserveMemory,
  sendJson,
  SSE_HEADERS,
  SSE_HEARTBEAT,
  toRefusal,
  type OpenReplies,
  type Refusal
} from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { errors } from '../surface-errors.ts'
import { FrameStream } from '../http/frame-stream.ts'
import {
  idOf,
  META_KEYS,
  missingCapability,
  RPC_CODES,
  RpcError,
  TASKS,
  type RequestId
} from '../protocol/message.ts'

/** A request under way. */
export interface Call {
  readonly id: RequestId
  readonly principal: Principal
  readonly headers: IncomingHttpHeaders
  readonly log: RunLog
  /** True for 2026-07-28. */
  readonly isModern: boolean
  readonly client: Client
  readonly exchange: Exchange
}

/** What the client of a request can do. */
export interface Client {
  /** How it asks its users. */
  readonly elicits: Elicits
  /** True if a call may become a task. */
  readonly knowsTasks: boolean
}

/** How a client asks its users. */
export interface Elicits {
  /** With forms. */
  readonly form: boolean
  /** With pages that they open. */
  readonly url: boolean
}

/** The client as a request of 2026-07-28 describes it. */
export function clientOf(params: unknown): Client {
  const { _meta: meta } = params as { _meta: Readonly<Record<string, unknown>> }
  const { elicitation, extensions } = meta[META_KEYS.capabilities] as {
    elicitation?: object
    extensions?: Readonly<Record<string, unknown>>
  }
  return { elicits: toElicits(elicitation), knowsTasks: extensions?.[TASKS] !== undefined }
}

/** How a client that declares this capability of elicitation asks its users; an empty one means forms. */
function toElicits(elicitation: unknown): Elicits {
  if (typeof elicitation !== 'object' || elicitation === null) return { form: false, url: false }
  const url = 'url' in elicitation
  return { form: 'form' in elicitation || !url, url }
}

/** Refuses clients that do not know tasks. @throws RpcError */
export function requireTasks({ knowsTasks }: Client): void {
  if (!knowsTasks) throw missingCapability({ extensions: { [TASKS]: {} } })
}

/**
 * The id of a session of 2025-11-25. The server keeps no sessions: the id says itself what later requests need to know of the client, and
 * grants nothing, so that it may be replayed, and any node can read it.
 */
export function createSessionId(initialize: unknown): string {
  const { capabilities } = (initialize ?? {}) as { capabilities?: { elicitation?: unknown } | null }
  const { form, url } = toElicits(capabilities?.elicitation)
  return `${randomUUID()}.${form ? 'e' : ''}${url ? 'u' : ''}`
}

/** The client of a session. */
export function clientOfSession(sessionId: string | string[] | undefined): Client {
  const [, form, url] = (typeof sessionId === 'string' && /\.(e?)(u?)$/.exec(sessionId)) || []
  return { elicits: { form: form === 'e', url: url === 'u' }, knowsTasks: false }
}

/** What keeps watch over a reply, and calls back when its client leaves. */
export interface Watch {
  add(reply: ServerResponse, onLeave: () => void): void
}

/** Options of an exchange. */
export interface ExchangeOptions {
  readonly replies: OpenReplies
  /** Milliseconds between comments on a silent stream. */
  readonly heartbeat: number
  /** The number of responses that a stream has; default one reply. */
  readonly batch?: number
}

/** The reply to one POST: a response as JSON or, once there is more to send or it has been silent for long, a stream of messages. */
export class Exchange {
  readonly #reply: FastifyReply
  readonly #replies: OpenReplies
  readonly #heartbeat: number
  #awaited: number
  #stream: FrameStream | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(reply: FastifyReply, { replies, heartbeat, batch }: ExchangeOptions) {
    this.#reply = reply
    this.#replies = replies
    this.#heartbeat = heartbeat
    this.#awaited = batch ?? 1
    if (batch !== undefined) this.#open()
  }

  /** True if the status has been sent. */
  get isStream(): boolean {
    return this.#stream !== undefined
  }

  /** True if the client has left. */
  get isLeft(): boolean {
    return this.#reply.raw.destroyed
  }

  /** The address of the client, or of the proxy before it. */
  get address(): string {
    return this.#reply.request.ip
  }

  /** Expects that the reply takes long, and calls back if its client leaves. */
  stay(watch: Watch, onLeave: () => void): void {
    this.#timer ??= setInterval(() => this.#open().addText(SSE_HEARTBEAT), this.#heartbeat).unref()
    watch.add(this.#reply.raw, () => {
      clearInterval(this.#timer)
      onLeave()
    })
  }

  /** Waits until a response of about so many bytes may be in memory. @throws RUN_ERR_READER_LEFT */
  reserve(owner: string, bytes: number): Promise<void> | undefined {
    return reserveMemory(this.#reply.raw, owner, bytes)
  }

  /** Resolves once the client has taken what the stream has so far, or has left. */
  async taken(): Promise<void> {
    await this.#stream?.taken()
  }

  /** Sends a message before the response. */
  send(message: object): void {
    if (!this.isLeft) this.#open().add(message)
  }

  /** Sends a response; the last one ends the reply. */
  respond(response: object, status = 200): void {
    const isLast = --this.#awaited === 0
    if (isLast) clearInterval(this.#timer)
    if (this.#stream === undefined) {
      sendJson(this.#replies, this.#reply.code(status), response)
      return
    }
    this.#stream.add(response)
    if (isLast) this.#stream.end()
  }

  #open(): FrameStream {
    if (this.#stream === undefined) {
      this.#stream = new FrameStream()
      this.#reply.headers(SSE_HEADERS).send(this.#stream)
    }
    return this.#stream
  }
}

/** Methods whose results say how long they may be kept. */
const CACHEABLE = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read'
])
/** What a caller may see, and how far a run is, may change at any time. */
const UNCACHED = { ttlMs: 0, cacheScope: 'private' }

/** A result as 2026-07-28 has it: it says whether it is all, and which server it is of. */
export function encodeResult(method: string, result: object, server: object): object {
  const { _meta: meta } = result as { _meta?: object }
  return {
    resultType: 'complete',
    ...(CACHEABLE.has(method) && UNCACHED),
    ...result,
    _meta: { ...meta, [META_KEYS.server]: server }
  }
}

/** True if clients may see an error. */
export function isVisible(err: unknown): boolean {
  const { statusCode, code } = toRefusal(err, errors)
  return code === codeOf(err) && statusCode < 600
}

/** True for the errors of this wire itself: they end a request, while those of a run are the result of a call. */
export const isProtocolError = (err: unknown): boolean => codeOf(err)?.startsWith('MCP_ERR_') === true

/** Converts any thrown value to the error that a client may see, with the stable code in its data, and logs it. */
export function toRpcError(
  err: unknown,
  { log, headers }: { readonly log: RunLog; readonly headers: IncomingHttpHeaders }
): RpcError {
  if (err instanceof RpcError) {
    const { code, status } = err
    log.info({ code, statusCode: status }, 'request refused')
    return err
  }
  const refusal = toRefusal(err, errors)
  const { code, statusCode, message } = refusal
  logFault(log, 'request', { code, statusCode }, err, { headers })
  return new RpcError(rpcCodeOf(refusal), message, { data: { code } })
}

/** The body of a refused request. */
export function toRpcBody(refusal: Refusal, { body }: FastifyRequest): object {
  const { message, code } = refusal
  return { jsonrpc: '2.0', id: idOf(body), error: { code: rpcCodeOf(refusal), message, data: { code } } }
}

// The code of JSON-RPC for a refusal.
function rpcCodeOf({ statusCode, code }: Pick<Refusal, 'statusCode' | 'code'>): number {
  if (code === 'MCP_ERR_BAD_JSON') return RPC_CODES.ParseError
  if (code === 'MCP_ERR_BAD_REQUEST') return RPC_CODES.InvalidRequest
  return statusCode >= 500 ? RPC_CODES.InternalError : RPC_CODES.InvalidParams
}
