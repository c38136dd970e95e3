import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Principal, RunLog } from '@svc/contract'
import type { RequestId } from '../protocol/message.ts'
import { META_KEYS, TASKS } from '../protocol/revisions.ts'
import { missingCapability } from '../protocol/rpc-error.ts'
import type { Exchange } from './exchange.ts'

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
