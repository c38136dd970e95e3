import type { IncomingHttpHeaders } from 'node:http'
import type { RunnableKind } from './names.ts'

/** The caller. `scopes` decide what they may do; `claims` come from the verified token. */
export interface Principal {
  sub: string
  scopes: readonly string[]
  /** When the credentials expire, in seconds since the epoch. */
  exp?: number
  claims?: Readonly<Record<string, unknown>>
}

/** The owner of everything done without credentials. */
export const ANONYMOUS: Principal = Object.freeze({ sub: 'anonymous', scopes: Object.freeze([]) })

/** The credentials that a surface read from a request or a handshake; the token comes from a header or a cookie. */
export interface Credentials {
  token?: string
  headers: IncomingHttpHeaders
  cookies: Readonly<Record<string, string>>
}

/** Security schemes of an OpenAPI document or an Agent Card. */
export type SecuritySchemes = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** Maps credentials to a principal; returns null if there are none, throws if they are invalid. */
export interface Authenticate<C extends Credentials = Credentials> {
  (credentials: C): Promise<Principal | null> | Principal | null
  /** OpenAPI security schemes by name. */
  schemes?: SecuritySchemes
}

/** An action on a runnable. */
export type Action = 'run' | 'read' | 'answer' | 'admin'

/** The target of an action; `owner` owns the run, session or approval. */
export interface AccessTarget {
  kind: RunnableKind
  name: string
  owner?: string
}

/** An access decision; a refusal may name the missing scope. */
export type AccessDecision = { allowed: true } | { allowed: false; missing?: string }

/** The policy that all surfaces ask. */
export type Authorize = (
  principal: Principal,
  action: Action,
  target: AccessTarget
) => AccessDecision | Promise<AccessDecision>
