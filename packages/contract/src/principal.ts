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

/**
 * True if the held scopes grant the wanted one. `*` and `admin:*` grant everything, `agents:*` grants every scope that begins
 * with `agents:`, and any other scope grants only itself.
 */
export function grantsScope(held: readonly string[], wanted: string): boolean {
  if (held.includes(wanted) || isAdmin(held)) return true
  const colon = wanted.indexOf(':')
  return colon > 0 && held.includes(`${wanted.slice(0, colon)}:*`)
}

/** True if a principal may see and control what belongs to `owner`: its own, or everyone's with `*` or `admin:*`. */
export function reachesOwner({ sub, scopes }: Principal, owner: string): boolean {
  return sub === owner || isAdmin(scopes)
}

/** True if the held scopes grant everything. */
export function isAdmin(held: readonly string[]): boolean {
  return held.includes('*') || held.includes('admin:*')
}

/** Returns the first wanted scope that is not granted; all of them are required. */
export function findMissingScope(held: readonly string[], wanted: readonly string[]): string | undefined {
  return wanted.find((scope) => !grantsScope(held, scope))
}
