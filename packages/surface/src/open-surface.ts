import type { FastifyInstance } from 'fastify'
import { DEFAULT_PROVIDER_KEY_HEADERS, type AdmittingSurface } from './access/admit-run.ts'
import { listNamed, type WireSettings } from './access/wire-options.ts'
import {
  ensureEngine,
  requireFreePlace,
  resolvePolicy,
  rootOf,
  warnOfTimeouts,
  type Exposed,
  type Policy
} from '@svc/registry/engine'
import type { OnDisconnect } from '@svc/contract'
import { describeRoutes, type ApiInfo } from './openapi/describe-routes.ts'
import { keepPrivate } from './requests/guard-scope.ts'
import { identifyCallers } from './requests/identify-callers.ts'
import { refuseFloods, type EarlyRefusals } from './requests/refuse-early.ts'
import { refuseRequests, type RefusalBody } from './requests/refuse-requests.ts'
import { requireStrictJson } from './requests/strict-json.ts'
import type { RunEngine } from '@svc/registry'
import { OpenReplies } from './sse/open-replies.ts'
import type { SurfaceErrors } from './surface-errors.ts'

/** What all routes of a wire share. */
export interface WireSurface extends AdmittingSurface {
  readonly runs: RunEngine
  readonly exposed: Exposed
  readonly policy: Policy
  readonly replies: OpenReplies
  /** The URL of the prefix, unless it is that of each request. */
  readonly url: string | undefined
  /** The path of the prefix. */
  readonly prefix: string
  /** For runs whose request does not choose. */
  readonly onDisconnect: OnDisconnect
  /** Milliseconds between comments on a silent stream. */
  readonly heartbeat: number
}

/** What a wire over HTTP is, with paths below its prefix. */
export interface WireDescription {
  /** The name of its package: `@svc/ag-ui`. */
  readonly plugin: string
  /** The name of its protocol. */
  readonly name: string
  readonly path: string
  /** Where its OpenAPI document is. */
  readonly document: string
  readonly api: Pick<ApiInfo, 'title' | 'version' | 'tags'>
  readonly errors: SurfaceErrors
  /** Converts a refusal to the body of the protocol's error. */
  readonly toBody: RefusalBody
  /** True if queries that a route does not have are ignored; default false. */
  readonly ignoresQueries?: boolean
  /** True if a request repeats a start that was accepted; default: none does. */
  readonly isRepeated?: NonNullable<EarlyRefusals['isRepeated']>
}

/** What a wire adds to its scope. */
export interface WireRoutes {
  /** Adds what comes before all hooks of the surface. */
  readonly prepare?: (scope: FastifyInstance) => void
  /** Adds the routes, all of whose callers are identified. */
  readonly add: (scope: FastifyInstance, surface: WireSurface) => void
}

/**
 * Opens a surface: a scope of the app below the prefix, with a run engine, in which bodies are strict JSON, replies are private, refusals have the
 * shape of the protocol, callers are identified, floods are refused, and the routes are described in an OpenAPI document. The scope is
 * encapsulated: nothing in it changes the app.
 * @throws BadOption, RegisteredTwice
 */
export async function openSurface(
  app: FastifyInstance,
  wire: WireDescription,
  settings: WireSettings,
  { prepare, add }: WireRoutes
): Promise<void> {
  const { plugin, api, errors, ignoresQueries = false, isRepeated } = wire
  await ensureEngine(app, plugin)
  warnOfTimeouts(app)
  await app.register(async (scope) => {
    const surface = createSurface(scope, wire, settings)
    keepPrivate(scope)
    prepare?.(scope)
    requireStrictJson(scope, { ...settings, ignoresQueries, errors })
    refuseRequests(scope, errors, wire.toBody)
    const openApi = describeRoutes(scope, { ...api, schemes: surface.policy.authenticate?.schemes })
    scope.get(wire.document, () => openApi())
    await scope.register(async (guarded) => {
      identifyCallers(guarded, surface.policy, errors)
      refuseFloods(guarded, {
        runs: surface.runs,
        ownerOf: ({ caller }) => caller.sub,
        ...(isRepeated !== undefined && { isRepeated })
      })
      add(guarded, surface)
    })
    surface.replies.endWith(scope)
  }, settings.registerOptions)
}

function createSurface(
  scope: FastifyInstance,
  { plugin, name, path, document, errors }: WireDescription,
  settings: WireSettings
): WireSurface {
  const { runs, registry } = scope
  const prefix = scope.prefix.replace(/\/+$/, '')
  const place = `prefix "${prefix || '/'}"`
  requireFreePlace(rootOf(scope), plugin, place, (taken) => new errors.RegisteredTwice(taken))
  const policy = resolvePolicy(settings, runs.exposures.policy)
  const exposed = runs.exposures.add({
    surface: `${plugin} ${place}`,
    registry: settings.registry ?? registry,
    named: listNamed(settings, errors.BadOption),
    wire: { name, path: prefix + path || '/', document: prefix + document },
    policy
  })
  const { url, clientInstructions, clientTools, onDisconnect, heartbeat } = settings
  return {
    runs,
    exposed,
    policy,
    prefix,
    clientInstructions,
    clientTools,
    onDisconnect,
    heartbeat,
    url: url?.replace(/\/+$/, ''),
    replies: new OpenReplies(),
    providerKeyHeaders: DEFAULT_PROVIDER_KEY_HEADERS,
    errors
  }
}
