import type { IncomingHttpHeaders } from 'node:http'
import type { RunnableKind } from './names.ts'

/** Who calls. `scopes` decide what they may do; `claims` are the verified token's own. */
export interface Principal {
  sub: string
  scopes: readonly string[]
  /** When the credentials end, in seconds since the epoch. */
  exp?: number
  claims?: Readonly<Record<string, unknown>>
}

/** The owner of everything that is done without credentials. */
export const ANONYMOUS: Principal = Object.freeze({ sub: 'anonymous', scopes: Object.freeze([]) })

/** What an entrance read from a request or a handshake. The token is the entrance's own finding, header or cookie. */
export interface Credentials {
  token?: string
  headers: IncomingHttpHeaders
  cookies: Readonly<Record<string, string>>
}

/** How an OpenAPI document or an Agent Card describes the credentials. */
export type SecuritySchemes = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** Credentials → principal; null if there are none; throws if they are bad. */
export interface Authenticate<C extends Credentials = Credentials> {
  (credentials: C): Promise<Principal | null> | Principal | null
  /** OpenAPI security schemes by name. */
  schemes?: SecuritySchemes
}

/** What is to be done to a runnable. */
export type Action = 'run' | 'read' | 'answer' | 'admin'

/** What an action is done to; `owner` is whose run, session or approval it is. */
export interface AccessTarget {
  kind: RunnableKind
  name: string
  owner?: string
}

/** A decision; a refusal may name the scope that is missing. */
export type AccessDecision = { allowed: true } | { allowed: false; missing?: string }

/** The policy that every entrance asks, with the same outcome. */
export type Authorize = (
  principal: Principal,
  action: Action,
  target: AccessTarget
) => AccessDecision | Promise<AccessDecision>
