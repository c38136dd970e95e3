import type { IncomingHttpHeaders } from 'node:http'
import {
  isAdmin,
  andThen,
  isPromise,
  ProviderKey,
  type AccessDecision,
  type AccessTarget,
  type Action,
  type Awaitable,
  type OnDisconnect,
  type Principal,
  type RunBody,
  type RunLog,
  type Runnable,
  type RunnableKind
} from '@svc/contract'
import { RUN_ERR_CLIENT_INSTRUCTIONS, RUN_ERR_CLIENT_TOOLS } from '@svc/contract/errors'
import type { CallerOptions, StartOptions } from '@svc/registry'
import { badInput, createRedact, redactLog, type Exposed, type Policy } from '@svc/registry/engine'

/** Maps headers to the providers whose keys they hold; `x-api-key` is for every provider. */
export const DEFAULT_PROVIDER_KEY_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  'x-openai-api-key': 'openai',
  'x-anthropic-api-key': 'anthropic',
  'x-google-api-key': 'google',
  'x-vendora-api-key': 'openai',
  'x-vendorb-api-key': 'anthropic',
  'x-vendorc-api-key': 'google'
})

/** A caller's keys for model providers, from a request. */
export class ProviderKeys {
  readonly #fromBody: ProviderKey | undefined
  readonly #fromHeaders: ReadonlyMap<string, ProviderKey>
  readonly #generic: ProviderKey | undefined

  constructor(
    headers: IncomingHttpHeaders,
    bodyKey: string | undefined,
    known: Readonly<Record<string, string>>
  ) {
    this.#fromBody = toSecret(bodyKey)
    this.#generic = toSecret(headers['x-api-key'])
    this.#fromHeaders = readKeys(headers, known)
  }

  /** The caller's key for a provider: from the body, else from the provider's own header, else from `x-api-key`. */
  find(provider?: string): ProviderKey | undefined {
    const own = provider === undefined ? undefined : this.#fromHeaders.get(vendorOf(provider))
    return this.#fromBody ?? own ?? this.#generic
  }

  /** The start options that let a run use the keys without revealing them, in its log or elsewhere. */
  forRun(log: RunLog): Pick<StartOptions, 'apiKey' | 'log' | 'redact'> {
    if (this.#fromBody === undefined && this.#generic === undefined && this.#fromHeaders.size === 0)
      return { log }
    const secrets = [this.#fromBody, ...this.#fromHeaders.values(), this.#generic]
    const keys = secrets.flatMap((secret) => secret?.reveal() ?? [])
    return {
      apiKey: (provider) => this.find(provider),
      log: redactLog(log, keys),
      redact: createRedact(keys)
    }
  }
}

const NO_KEYS: ReadonlyMap<string, ProviderKey> = new Map()

function readKeys(headers: IncomingHttpHeaders, known: Readonly<Record<string, string>>) {
  let keys: Map<string, ProviderKey> | undefined
  for (const header in known) {
    const key = toSecret(headers[header])
    if (key === undefined) continue
    const vendor = vendorOf(known[header]!)
    if (keys?.has(vendor)) continue
    keys ??= new Map()
    keys.set(vendor, key)
  }
  return keys ?? NO_KEYS
}

// Node.js joins repeated headers; a joined value is not a key.
function toSecret(key: string | string[] | undefined): ProviderKey | undefined {
  return typeof key === 'string' && key !== '' ? new ProviderKey(key) : undefined
}

// `openai.responses` and `google.generative-ai` are names of the AI SDK.
function vendorOf(provider: string): string {
  return provider.split('.', 1)[0]!
}

/** The errors of a surface for callers who may not do what they ask for. */
export interface AccessErrors {
  readonly Forbidden: new () => Error
  readonly MissingScope: new (scope: string) => Error
}

/** The errors of a surface for runs that it does not start. */
export interface AdmissionErrors extends AccessErrors {
  readonly UnknownRunnable: new (kind: RunnableKind, name: string) => Error
  readonly ForeignUser: new () => Error
}

/** The part of a surface that decides which users its callers may name. */
export interface NamedUser {
  readonly exposed: Pick<Exposed, 'hasUsers'>
  readonly errors: Pick<AdmissionErrors, 'ForeignUser'>
}

/** The part of a surface that admits runs. */
export interface AdmittingSurface {
  readonly exposed: Pick<Exposed, 'find' | 'startOptions' | 'hasUsers'>
  readonly policy: Pick<Policy, 'authorize'>
  /** Header, in lower case → the provider whose key it holds. */
  readonly providerKeyHeaders: Readonly<Record<string, string>>
  readonly errors: AdmissionErrors
  /** True if it accepts `instructions` of callers. */
  readonly clientInstructions: boolean
  /** True if it accepts `tools` of callers. */
  readonly clientTools: boolean
}

/** A request for a run. */
export interface AskedRun {
  readonly body: RunBody
  readonly principal: Principal
  /** What happens to the run if its client disconnects: as its body says, else as the surface does. */
  readonly onDisconnect: OnDisconnect
  /** May contain such keys, too. */
  readonly headers: IncomingHttpHeaders
  readonly log: RunLog
}

/** A runnable, and the options that its run starts with. */
export interface AdmittedRun {
  readonly runnable: Runnable
  readonly options: StartOptions
}

/**
 * Admits a run in the one order of all surfaces: the caller may run it, it is exposed, the user is the caller's own. A
 * surface that knows the name before the rest of a request takes the same steps one by one.
 * @throws the surface's errors
 */
export function admitRun(
  surface: AdmittingSurface,
  kind: RunnableKind,
  name: string,
  asked: AskedRun
): Awaitable<AdmittedRun> {
  const allowed = requireAllowed(surface, asked.principal, 'run', { kind, name })
  return isPromise(allowed) ? allowed.then(find) : find()

  function find(): Awaitable<AdmittedRun> {
    const runnable = requireExposed(surface, kind, name)
    return andThen(runnable, admit)
  }

  function admit(runnable: Runnable): AdmittedRun {
    return { runnable, options: toStartOptions(surface, runnable, asked) }
  }
}

/** First step: asks the policy. @throws Forbidden, MissingScope (with the `scope`) */
export function requireAllowed(
  { policy, errors }: { policy: Pick<Policy, 'authorize'>; errors: AccessErrors },
  principal: Principal,
  action: Action,
  target: AccessTarget
): Awaitable<void> {
  const decision = policy.authorize(principal, action, target)
  return isPromise(decision)
    ? decision.then((made) => requireDecision(made, errors))
    : requireDecision(decision, errors)
}

/** True if a caller may run a runnable, which lists ask of each. */
export async function mayRun(
  { policy }: { readonly policy: Pick<Policy, 'authorize'> },
  principal: Principal,
  { kind, name }: Pick<AccessTarget, 'kind' | 'name'>
): Promise<boolean> {
  return (await policy.authorize(principal, 'run', { kind, name })).allowed
}

function requireDecision(made: AccessDecision, errors: AccessErrors): void {
  if (made.allowed) return
  throw made.missing === undefined ? new errors.Forbidden() : missingScope(errors, made.missing)
}

/** The error for a caller without a scope, which it names in `scope`. */
export function missingScope({ MissingScope }: Pick<AccessErrors, 'MissingScope'>, scope: string): Error {
  return Object.assign(new MissingScope(scope), { scope })
}

/** Second step: looks the runnable up. @throws UnknownRunnable */
export function requireExposed(
  { exposed, errors }: Pick<AdmittingSurface, 'exposed' | 'errors'>,
  kind: RunnableKind,
  name: string
): Awaitable<Runnable> {
  const found = exposed.find(kind, name)
  return isPromise(found)
    ? found.then((later) => requireFound(later, kind, name, errors))
    : requireFound(found, kind, name, errors)
}

function requireFound(
  runnable: Runnable | undefined,
  kind: RunnableKind,
  name: string,
  { UnknownRunnable }: Pick<AdmissionErrors, 'UnknownRunnable'>
): Runnable {
  if (runnable === undefined) throw new UnknownRunnable(kind, name)
  return runnable
}

/**
 * Last step: the start options of the run, with the caller's provider keys.
 * @throws ForeignUser, RUN_ERR_CLIENT_INSTRUCTIONS, RUN_ERR_CLIENT_TOOLS, RUN_ERR_BAD_INPUT if the body has nothing to answer
 */
export function toStartOptions(
  surface: AdmittingSurface,
  runnable: Runnable,
  { body, onDisconnect, principal, headers, log }: AskedRun
): StartOptions {
  const { exposed, providerKeyHeaders } = surface
  const { input, apiKey, onDisconnect: _, ...asked } = body
  requireOwnUser(surface, principal, asked.userId)
  requireCallerOptions(surface, asked)
  if (input === undefined && asked.messages === undefined)
    throw badInput([{ path: 'input', message: 'is required' }])
  const keys = new ProviderKeys(headers, apiKey, providerKeyHeaders)
  return { ...exposed.startOptions(runnable), ...asked, onDisconnect, principal, ...keys.forRun(log) }
}

/**
 * Checks the user that a caller names. Only administrators may name another user; in an app without authentication anyone may name
 * any. An open surface beside one with authentication would else reach the sessions and memories of its users.
 * @throws ForeignUser
 */
export function requireOwnUser(
  { exposed, errors }: NamedUser,
  { sub, scopes }: Principal,
  userId: string | undefined
): void {
  if (userId === undefined || userId === sub || !exposed.hasUsers || isAdmin(scopes)) return
  throw new errors.ForeignUser()
}

/** Checks that a surface accepts what a caller gave. @throws RUN_ERR_CLIENT_INSTRUCTIONS, RUN_ERR_CLIENT_TOOLS */
export function requireCallerOptions(
  { clientInstructions, clientTools }: Pick<AdmittingSurface, 'clientInstructions' | 'clientTools'>,
  { instructions, tools }: Pick<CallerOptions, 'instructions' | 'tools'>
): void {
  if (instructions !== undefined && !clientInstructions) throw new RUN_ERR_CLIENT_INSTRUCTIONS()
  if (tools !== undefined && !clientTools) throw new RUN_ERR_CLIENT_TOOLS()
}
