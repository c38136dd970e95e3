import { Type } from '@sinclair/typebox'
import {
  isAdmin,
  andThen,
  type AccessDecision,
  type Authenticate,
  type Authorize,
  type Credentials
} from '@svc/contract'

/** The policy of an app: the default of every surface, and of runs that resume after their surface is gone. */
export interface AppPolicy {
  readonly authenticate?: Authenticate | undefined
  readonly authorize?: Authorize | undefined
  readonly hosts?: readonly string[] | undefined
}

/** A surface's own options; `false` switches the app's policy off. */
export interface PolicyOptions<C extends Credentials = Credentials> {
  readonly authenticate?: Authenticate<C> | false | undefined
  readonly authorize?: Authorize | false | undefined
}

function functionOrFalse<F>(description: string) {
  return Type.Optional(
    Type.Unsafe<F | false>(
      Type.Union([Type.Function([], Type.Unknown()), Type.Literal(false)], { description })
    )
  )
}

/** The schemas of the options that take the place of the app's policy. */
export const POLICY_OPTIONS = {
  authenticate: functionOrFalse<Authenticate>(
    'Credentials → principal; `false`: everyone is anonymous; default that of `@svc/registry`'
  ),
  authorize: functionOrFalse<Authorize>(
    'Who may do what to which runnable; `false`: everyone everything; default that of `@svc/registry`'
  )
}

/** Decides what the runs of a surface may reach. */
export interface SurfacePolicy {
  readonly authorize: Authorize
  /** True if the app gave it; false for the default of surfaces. */
  readonly isOwn: boolean
  /** Undefined if every caller is anonymous. */
  readonly authenticate?: unknown
}

/** Decides who calls a surface, and what callers may do. */
export interface Policy<C extends Credentials = Credentials> extends SurfacePolicy {
  /** Undefined if every caller is anonymous. */
  readonly authenticate: Authenticate<C> | undefined
  /** Hosts, besides local names, of surfaces without authentication on loopback, and of pages that may call them. */
  readonly hosts: readonly string[]
}

/**
 * Resolves the policy of a surface: its own options, else the app's, else everyone is anonymous and may do everything but
 * `admin`.
 * @param fallback takes the place of that last default
 */
export function resolvePolicy<C extends Credentials = Credentials>(
  own: PolicyOptions<C>,
  app: AppPolicy,
  fallback: Authorize = allowAllButAdmin
): Policy<C> {
  const authenticate = own.authenticate ?? app.authenticate
  const authorize = own.authorize ?? app.authorize
  return {
    authenticate: authenticate === false ? undefined : authenticate,
    authorize: resolveAuthorize(authorize || fallback),
    isOwn: typeof authorize === 'function',
    hosts: app.hosts ?? []
  }
}

/** Makes sure that only `allowed: true` allows; a policy in JavaScript may return a string or a number. */
export function resolveAuthorize(authorize: Authorize = allowAllButAdmin): Authorize {
  return (...asked) => {
    const decision = authorize(...asked)
    return andThen(decision, toDecision)
  }
}

const allowAllButAdmin: Authorize = ({ scopes }, action) => ({
  allowed: action !== 'admin' || isAdmin(scopes)
})

function toDecision(decision: AccessDecision | null | undefined): AccessDecision {
  const { allowed, missing } = (decision ?? {}) as { allowed?: unknown; missing?: unknown }
  if (allowed === true) return { allowed }
  return { allowed: false, ...(typeof missing === 'string' && { missing }) }
}
