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
  /** True if it fills in forms, as its session says: revisions before 2026-07-28 only. */
  readonly elicits: boolean
}

/** What the client of a request can do. */
export interface Client {
  /** True if it fills in forms. */
  readonly elicits: boolean
  /** True if a call may become a task. */
  readonly knowsTasks: boolean
  /** Sends a request on the stream of the request under way. */
  send(message: JSONRPCRequest, ctx: ServerContext): void
}

/** Reads what the client can do: in the request itself, or, before 2026-07-28, in its session. */
export function clientOf(caller: Caller & { send?: Client['send'] }, ctx: ServerContext): Client {
  const { elicitation, extensions } = capabilitiesOf(ctx)
  return {
    elicits: caller.isModern ? canFillForms(elicitation) : caller.elicits,
    knowsTasks: extensions?.[TASKS] !== undefined,
    send: caller.send ?? (() => {})
  }
}

/** Refuses clients that do not know tasks. @throws MissingRequiredClientCapabilityError */
export function requireTasks(ctx: ServerContext): void {
  if (capabilitiesOf(ctx).extensions?.[TASKS] === undefined)
    throw new MissingRequiredClientCapabilityError({
      requiredCapabilities: { extensions: { [TASKS]: {} } }
    })
}

/** True if a client that declares this capability of elicitation fills in forms; an empty one means forms. */
export function canFillForms(elicitation: unknown): boolean {
  if (typeof elicitation !== 'object' || elicitation === null) return false
  return 'form' in elicitation || !('url' in elicitation)
}

interface Capabilities {
  readonly elicitation?: unknown
  readonly extensions?: Readonly<Record<string, unknown>>
}

function capabilitiesOf({ mcpReq }: ServerContext): Capabilities {
  const envelope = mcpReq.envelope as Readonly<Record<string, Capabilities | undefined>> | undefined
  return envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? {}
}
