import type { OnDisconnect, RunEngine } from '@svc/registry'
import {
  DEFAULT_PROVIDER_KEY_HEADERS,
  listNamed,
  resolvePolicy,
  type AdmittingSurface,
  type Exposed,
  type Policy
} from '@svc/registry/kit'
import { OpenReplies } from '@svc/registry/sse'
import type { FastifyInstance } from 'fastify'
import {
  AGUI_ERR_BAD_OPTION,
  AGUI_ERR_FORBIDDEN,
  AGUI_ERR_FOREIGN_USER,
  AGUI_ERR_MISSING_SCOPE,
  AGUI_ERR_UNKNOWN_RUNNABLE
} from './errors.ts'
import type { AgUiSettings } from './options.ts'

/** Shared by all routes. */
export interface Surface extends AdmittingSurface {
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

const ADMISSION_ERRORS = {
  Forbidden: AGUI_ERR_FORBIDDEN,
  MissingScope: AGUI_ERR_MISSING_SCOPE,
  UnknownRunnable: AGUI_ERR_UNKNOWN_RUNNABLE,
  ForeignUser: AGUI_ERR_FOREIGN_USER
}

/** Creates the surface of a scope. @throws AGUI_ERR_BAD_OPTION */
export function createSurface(
  { runs, registry }: Pick<FastifyInstance, 'runs' | 'registry'>,
  settings: AgUiSettings,
  place: string,
  prefix: string
): Surface {
  const policy = resolvePolicy(settings, runs.exposures.policy)
  const exposed = runs.exposures.add({
    surface: `@svc/ag-ui ${place}`,
    registry: settings.registry ?? registry,
    named: listNamed(settings, AGUI_ERR_BAD_OPTION),
    policy
  })
  const { url, clientInstructions, clientTools, onDisconnect, heartbeat } = settings
  return {
    ...{ runs, exposed, policy, prefix, clientInstructions, clientTools, onDisconnect, heartbeat },
    url: url?.replace(/\/+$/, ''),
    replies: new OpenReplies(),
    providerKeyHeaders: DEFAULT_PROVIDER_KEY_HEADERS,
    errors: ADMISSION_ERRORS
  }
}
