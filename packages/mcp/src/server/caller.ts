import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  type JSONRPCRequest,
  type ServerContext
} from '@modelcontextprotocol/server'
import type { Principal, RunLog } from '@svc/registry'
import type { IncomingHttpHeaders } from 'node:http'

/** The id of the extension for tasks. */
export const TASKS = 'io.modelcontextprotocol/tasks'

/** Who sends a request of MCP, and what the client can do. */
export interface Caller {
  readonly principal: Principal
  readonly headers: IncomingHttpHeaders
  readonly log: RunLog
  /** True for revisions from 2026-07-28 on. */
  readonly isModern: boolean
  /** How its users are asked, as its session says: revisions before 2026-07-28 only. */
  readonly elicits: Elicits
}

/** How a client asks its users. */
export interface Elicits {
  /** With forms. */
  readonly form: boolean
  /** With pages that they open. */
  readonly url: boolean
}

/** What the client of a request can do. */
export interface Client {
  readonly elicits: Elicits
  /** True if a call may become a task. */
  readonly knowsTasks: boolean
  /** Sends a request on the stream of the request under way. */
  send(message: JSONRPCRequest, ctx: ServerContext): void
}

/** Reads what the client can do: in the request itself, or, before 2026-07-28, in its session. */
export function clientOf(caller: Caller & { send?: Client['send'] }, ctx: ServerContext): Client {
  const { elicitation, extensions } = capabilitiesOf(ctx)
  return {
    elicits: caller.isModern ? toElicits(elicitation) : caller.elicits,
    knowsTasks: extensions?.[TASKS] !== undefined,
    send: caller.send ?? (() => {})
  }
}

/** Refuses clients that do not know tasks. @throws MissingRequiredClientCapabilityError */
export function requireTasks({ extensions }: Capabilities): void {
  if (extensions?.[TASKS] === undefined)
    throw new MissingRequiredClientCapabilityError({
      requiredCapabilities: { extensions: { [TASKS]: {} } }
    })
}

/** How a client that declares this capability of elicitation asks its users; an empty one means forms. */
export function toElicits(elicitation: unknown): Elicits {
  if (typeof elicitation !== 'object' || elicitation === null) return { form: false, url: false }
  const url = 'url' in elicitation
  return { form: 'form' in elicitation || !url, url }
}

/** Capabilities of clients that matter here. */
export interface Capabilities {
  readonly elicitation?: unknown
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** The capabilities that a request of 2026-07-28 declares. */
export function capabilitiesOf({ mcpReq }: Pick<ServerContext, 'mcpReq'>): Capabilities {
  return capabilitiesIn(mcpReq.envelope)
}

/** The capabilities in the `_meta` of a request. */
export function capabilitiesIn(meta: unknown): Capabilities {
  const known = meta as Readonly<Record<string, Capabilities | undefined>> | null | undefined
  return known?.[CLIENT_CAPABILITIES_META_KEY] ?? {}
}
