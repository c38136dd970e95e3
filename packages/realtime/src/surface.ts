import {
  DEFAULT_PROVIDER_KEY_HEADERS,
  listNamed,
  LiveCalls,
  resolvePolicy,
  type CallSurface,
  type Policy
} from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import type { Conversation } from './conversation/conversation.ts'
import { RT_ERR_BAD_OPTION } from './errors.ts'
import type { RealtimeSettings } from './options.ts'
import { ClientSecrets } from './secrets/client-secrets.ts'
import { errors } from './surface-errors.ts'

/** Shared by all connections. */
export interface Surface extends CallSurface {
  readonly policy: Policy
  readonly settings: Pick<RealtimeSettings, 'limits' | 'handshakeTimeout' | 'heartbeat' | 'secretLifetime'>
  readonly secrets: ClientSecrets
  readonly calls: LiveCalls
  /** The conversations of the calls in progress, by the id of their run. */
  readonly conversations: Map<string, Conversation>
}

/** Creates the surface of a scope. @throws RT_ERR_BAD_OPTION */
export function createSurface(
  app: FastifyInstance,
  settings: RealtimeSettings,
  place: string,
  path: string
): Surface {
  const { runs, log } = app
  if (runs.stores.lease !== undefined && settings.secret === undefined)
    throw new RT_ERR_BAD_OPTION('secret: several nodes share the stores, and must share it too')
  const policy = resolvePolicy(settings, runs.surfaces.policy)
  const exposed = runs.surfaces.add({
    surface: `@svc/realtime ${place}`,
    registry: settings.registry ?? app.registry,
    kinds: ['agent'],
    named: listNamed({ agents: settings.agents }, RT_ERR_BAD_OPTION),
    wire: { name: 'realtime', path },
    policy
  })
  const surface: CallSurface & Pick<Surface, 'policy'> = {
    runs,
    exposed,
    policy,
    log,
    clientInstructions: settings.clientInstructions,
    clientTools: settings.clientTools,
    providerKeyHeaders: DEFAULT_PROVIDER_KEY_HEADERS,
    errors
  }
  return {
    ...surface,
    settings,
    secrets: new ClientSecrets(settings.secret),
    calls: new LiveCalls(surface, settings.reconnectGrace),
    conversations: new Map()
  }
}
