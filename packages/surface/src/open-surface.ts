import {
  defined,
  type Awaitable,
  type Credentials,
  type OnDisconnect,
  type RunLog,
  type Runnable,
  type RunnableKind
} from '@svc/contract'
import type { Registry, RunEngine } from '@svc/registry'
import {
  ensureEngine,
  requireFreePlace,
  resolvePolicy,
  resolveSharedOptions,
  rootOf,
  warnOfTimeouts,
  type Exposed,
  type Policy,
  type PolicyOptions,
  type SharedOptions,
  type SharedSettings
} from '@svc/registry/engine'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import { DEFAULT_PROVIDER_KEY_HEADERS, type AdmittingSurface } from './access/admit-run.ts'
import { listNamed, type ExposedOptions } from './access/wire-options.ts'
import { describeRoutes, type ApiInfo } from './openapi/describe-routes.ts'
import { keepPrivate, refuseFloods, type EarlyRefusals } from './requests/guard-scope.ts'
import { identifyCallers } from './requests/identify-callers.ts'
import { refuseRequests, type RefusalBody } from './requests/refuse-requests.ts'
import { requireStrictJson, type StrictRules } from './requests/strict-json.ts'
import { OpenReplies } from './requests/open-replies.ts'
import type { SurfaceErrors } from './surface-errors.ts'

/** What a plugin exposes and to whom, from its options. */
export interface SurfaceSettings<C extends Credentials = Credentials>
  extends ExposedOptions, PolicyOptions<C>, Readonly<SharedOptions> {
  readonly registry?: Registry | false
  readonly providerKeyHeaders?: Readonly<Record<string, string>>
}

/** The plugin that opens a surface. */
export interface SurfaceDescription {
  /** The name of its package: `@svc/ag-ui`. */
  readonly plugin: string
  /** The name of its protocol. */
  readonly name: string
  readonly errors: SurfaceErrors
  /** The kinds of runnables that it exposes; default all. */
  readonly kinds?: readonly RunnableKind[]
  /** The runnables that its options name; default: those of `agents`, `teams` and `workflows`. */
  readonly named?: readonly Runnable[] | undefined
  /** Default: that of its options and of the app. */
  readonly policy?: Policy
  /** Its own defaults of the options that neither it nor the engine has. */
  readonly defaults?: SharedOptions
}

/** Where a surface is. */
export interface SurfaceAddress {
  /** What a plugin can have once only: `namespace "/"`. */
  readonly place: string
  /** Whose place it is; default: the app's. */
  readonly owner?: object
  readonly path: string
  /** The path of the document that describes it, if there is one. */
  readonly document?: string | undefined
}

/** What all surfaces share, over HTTP or not. */
export interface Surface<S = SurfaceSettings, C extends Credentials = Credentials>
  extends AdmittingSurface, SharedSettings {
  readonly runs: RunEngine
  readonly exposed: Exposed
  readonly policy: Policy<C>
  readonly errors: SurfaceErrors
  readonly log: RunLog
  readonly settings: S
}

/**
 * Exposes runnables in a place that no other registration of the plugin has: the part of a surface that has nothing to do with HTTP.
 * @throws BadOption, RegisteredTwice
 */
export function exposeSurface<C extends Credentials, S extends SurfaceSettings<C>>(
  app: FastifyInstance,
  { plugin, name, errors, kinds, defaults, ...given }: SurfaceDescription,
  { place, owner = rootOf(app), path, document }: SurfaceAddress,
  settings: S & SurfaceSettings<C>
): Surface<S, C> {
  const { runs, registry, log } = app
  const named = 'named' in given ? given.named : listNamed(settings, errors.BadOption)
  requireFreePlace(owner, plugin, place, (taken) => new errors.RegisteredTwice(taken))
  const policy = given.policy ?? resolvePolicy(settings, runs.surfaces.policy)
  const exposed = runs.surfaces.add({
    surface: `${plugin} ${place}`,
    registry: settings.registry ?? registry,
    named,
    wire: defined({ name, path, document }),
    policy,
    ...defined({ kinds })
  })
  const { providerKeyHeaders = DEFAULT_PROVIDER_KEY_HEADERS } = settings
  const shared = resolveSharedOptions(settings, runs.surfaces.shared, defaults)
  return { runs, exposed, policy, errors, log, settings, providerKeyHeaders, ...shared }
}

/** What a wire over HTTP takes of its options besides. */
export interface WireScopeSettings extends SurfaceSettings {
  readonly url?: string
  /** Default `continue`. */
  readonly onDisconnect?: OnDisconnect
  readonly registerOptions: RegisterOptions
}

/** What all routes of a wire share. */
export interface WireSurface<S = WireScopeSettings> extends Surface<S> {
  readonly replies: OpenReplies
  /** The URL of the prefix, unless it is that of each request. */
  readonly url: string | undefined
  /** The path of the prefix. */
  readonly prefix: string
  /** For runs whose request does not choose. */
  readonly onDisconnect: OnDisconnect
}

/** What a wire over HTTP is, with paths below its prefix. */
export interface WireDescription extends SurfaceDescription, StrictRules {
  readonly path: string
  /** What its path is called, if two registrations may share a prefix: `base path`. */
  readonly pathName?: string
  /** Where the document is that describes it. */
  readonly document?: string
  /** What its OpenAPI document begins with; default: it has none, or its own. */
  readonly api?: Pick<ApiInfo, 'title' | 'version' | 'tags'>
  /** Converts a refusal to the body of the protocol's error; default: `prepare` sets an error handler. */
  readonly toBody?: RefusalBody
  /** True if the clients of the wire send no cookies, so that those of a browser are ignored; default false. */
  readonly ignoresCookies?: boolean
  /** A header, in lower case, that has the token of a request without `Authorization`; default: none. */
  readonly tokenHeader?: string
  /** True if a request repeats a start that was accepted; default: none does. */
  readonly isRepeated?: NonNullable<EarlyRefusals['isRepeated']>
  /** Origins of pages that may call, which the wire itself has checked; default: those of the service. */
  readonly origins?: readonly string[]
}

/** What a wire adds to its scope. */
export interface WireRoutes<S = WireScopeSettings> {
  /** Adds what comes before all hooks of the surface. */
  readonly prepare?: (scope: FastifyInstance, surface: WireSurface<S>) => Awaitable<void>
  /** Identifies the callers of the routes; default: `identifyCallers`, and `refuseFloods` for their requests. */
  readonly guard?: (scope: FastifyInstance, surface: WireSurface<S>) => void
  /** Adds the routes, all of whose callers are identified. */
  readonly add: (scope: FastifyInstance, surface: WireSurface<S>) => Awaitable<void>
}

/**
 * Opens a surface: a scope of the app below the prefix, with a run engine, in which bodies are strict JSON, replies are private, refusals have the
 * shape of the protocol, callers are identified, floods are refused, and the routes are described in an OpenAPI document. The scope is
 * encapsulated: nothing in it changes the app.
 * @throws BadOption, RegisteredTwice
 */
export async function openSurface<S extends WireScopeSettings>(
  app: FastifyInstance,
  wire: WireDescription,
  settings: S,
  { prepare, guard = guardBy(wire), add }: WireRoutes<S>
): Promise<void> {
  const { plugin, document, api, errors, toBody } = wire
  await ensureEngine(app, plugin)
  warnOfTimeouts(app)
  await app.register(async (scope) => {
    const surface = createSurface(scope, wire, settings)
    keepPrivate(scope)
    await prepare?.(scope, surface)
    const { bodyLimit, jsonDepth } = surface
    requireStrictJson(scope, { ...wire, bodyLimit, jsonDepth })
    if (toBody !== undefined) refuseRequests(scope, errors, toBody)
    if (api !== undefined) {
      const openApi = describeRoutes(scope, { ...api, schemes: surface.policy.authenticate?.schemes })
      if (document !== undefined) scope.get(document, () => openApi())
    }
    await scope.register(async (guarded) => {
      guard(guarded, surface)
      await add(guarded, surface)
    })
    surface.replies.endWith(scope)
  }, settings.registerOptions)
}

const ownerOf: EarlyRefusals['ownerOf'] = ({ caller }) => caller.sub

function guardBy({ errors, origins = [], ignoresCookies, tokenHeader, isRepeated }: WireDescription) {
  return (scope: FastifyInstance, { runs, policy }: WireSurface<unknown>): void => {
    const pages = origins.flatMap((origin) => URL.parse(origin)?.hostname ?? [])
    const hosts = [...policy.hosts, ...pages]
    identifyCallers(scope, { ...policy, hosts, ...defined({ ignoresCookies, tokenHeader }) }, errors)
    refuseFloods(scope, defined({ runs, ownerOf, isRepeated }))
  }
}

function createSurface<S extends WireScopeSettings>(
  scope: FastifyInstance,
  wire: WireDescription,
  settings: S
): WireSurface<S> {
  const prefix = scope.prefix.replace(/\/+$/, '')
  const path = prefix + wire.path || '/'
  const place = wire.pathName === undefined ? `prefix "${prefix || '/'}"` : `${wire.pathName} "${path}"`
  const document = wire.document === undefined ? undefined : prefix + wire.document
  const { url, onDisconnect = 'continue' } = settings
  return {
    ...exposeSurface(scope, wire, { place, path, document }, settings),
    replies: new OpenReplies(),
    url: url?.replace(/\/+$/, ''),
    prefix,
    onDisconnect
  }
}
