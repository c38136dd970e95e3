import type { IncomingHttpHeaders } from 'node:http'
import { inspect } from 'node:util'
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

/** The replacement for a secret. */
export const REDACTED = '[redacted]'

/** A secret of a caller. Logs, JSON and string conversion show a placeholder; only `reveal()` returns it. */
export class Secret<T = unknown> {
  readonly #value: T

  constructor(value: T) {
    this.#value = value
  }

  /** The secret itself; pass it to the service that it is for only. */
  reveal(): T {
    return this.#value
  }

  toString(): string {
    return REDACTED
  }

  toJSON(): string {
    return REDACTED
  }

  [inspect.custom](): string {
    return REDACTED
  }
}

/** A caller's key for a model provider; pass it to the provider only. */
export class ProviderKey extends Secret<string> {}

/** Removes the caller's keys from values before they leave the run. */
export interface Redact {
  /** Redacts a JSON value; returns the value itself if it contains no key. */
  <T>(value: T): T
  /** Redacts a text that arrives in chunks, across which a key may be cut. Default: redacts each chunk by itself. */
  text?: () => TextInIncrements
}

/** Redacts nothing: for runs without a caller's keys. */
export const asItIs: Redact = (value) => value

/** Redacts one text chunk by chunk. */
export interface TextInIncrements {
  /** True if the next chunk may complete a key; if false, nothing is held back. */
  readonly open: boolean
  /** Takes a chunk and returns the text that is safe to emit. */
  add(increment: string): string
  /** Returns the text held back. */
  flush(): string
}
