import {
  DEFAULT_PROVIDER_KEY_HEADERS,
  listNamed,
  OpenReplies,
  resolvePolicy,
  type AdmittingSurface,
  type Exposed,
  type Policy,
  type RunEngine
} from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { MCP_ERR_BAD_OPTION } from './errors.ts'
import type { McpSettings } from './options.ts'
import { identityOf } from './server/describe-server.ts'
import { Subscriptions } from './subscriptions/subscriptions.ts'
import { errors } from './surface-errors.ts'

/** Shared by all requests. */
export interface Surface extends AdmittingSurface {
  readonly runs: RunEngine
  readonly exposed: Exposed
  readonly policy: Policy
  readonly replies: OpenReplies
  readonly subscriptions: Subscriptions
  /** What the server is called in its results. */
  readonly identity: object
  readonly settings: McpSettings
}

/** The page where users of a client give the credentials that a run asks for, if there is one and the client opens it. */
export function credentialsPageOf(
  { settings }: Pick<Surface, 'settings'>,
  runId: string,
  opensUrls: boolean
) {
  const { credentialsUrl } = settings
  if (credentialsUrl === undefined || !opensUrls) return undefined
  return (inputId: string) => credentialsUrl({ runId, inputId })
}

/** Creates the surface of a scope. @throws MCP_ERR_BAD_OPTION */
export function createSurface(
  { runs, registry }: Pick<FastifyInstance, 'runs' | 'registry'>,
  settings: McpSettings,
  place: string,
  path: string
): Surface {
  const policy = resolvePolicy(settings, runs.exposures.policy)
  const exposed = runs.exposures.add({
    surface: `@svc/mcp ${place}`,
    registry: settings.registry ?? registry,
    named: listNamed(settings, MCP_ERR_BAD_OPTION),
    wire: { name: 'mcp', path, document: `${path}/openapi.json` },
    policy
  })
  return {
    runs,
    exposed,
    policy,
    settings,
    replies: new OpenReplies(),
    subscriptions: new Subscriptions(),
    identity: identityOf(settings),
    providerKeyHeaders: DEFAULT_PROVIDER_KEY_HEADERS,
    errors,
    clientInstructions: false,
    clientTools: false
  }
}
