import type { FastifyInstance } from 'fastify'
import { requireFreePlace, rootOf } from '../app/app-scope.ts'
import type { OnDisconnect } from '../contract/run-body.ts'
import type { RunEngine } from '../runs/run-engine.ts'
import { OpenReplies } from '../sse/open-replies.ts'
import type { AdmissionErrors, AdmittingSurface } from './admit-run.ts'
import { listNamed } from './exposed-options.ts'
import type { Exposed } from './exposed.ts'
import { resolvePolicy, type Policy } from './policy.ts'
import { DEFAULT_PROVIDER_KEY_HEADERS } from './provider-keys.ts'
import type { WireSettings } from './wire-options.ts'

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

/** The errors of a wire for its registration, and for runs that it does not start. */
export interface WireErrors extends AdmissionErrors {
  readonly BadOption: new (fault: string) => Error
  readonly RegisteredTwice: new (place: string) => Error
}

/** What a wire is, with paths below its prefix. */
export interface WireDescription {
  /** The name of its package: `@svc/ag-ui`. */
  readonly plugin: string
  /** The name of its protocol. */
  readonly name: string
  readonly path: string
  readonly document: string
}

/**
 * Creates the surface of a wire in the scope of its routes; the app has a run engine.
 * @throws BadOption, RegisteredTwice
 */
export function createWireSurface(
  scope: FastifyInstance,
  { plugin, name, path, document }: WireDescription,
  settings: WireSettings,
  errors: WireErrors
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
    ...{ runs, exposed, policy, prefix, clientInstructions, clientTools, onDisconnect, heartbeat },
    url: url?.replace(/\/+$/, ''),
    replies: new OpenReplies(),
    providerKeyHeaders: DEFAULT_PROVIDER_KEY_HEADERS,
    errors
  }
}
