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
  UI_ERR_BAD_OPTION,
  UI_ERR_FORBIDDEN,
  UI_ERR_FOREIGN_USER,
  UI_ERR_MISSING_SCOPE,
  UI_ERR_UNKNOWN_RUNNABLE
} from './errors.ts'
import type { UiStreamSettings } from './options.ts'

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
  Forbidden: UI_ERR_FORBIDDEN,
  MissingScope: UI_ERR_MISSING_SCOPE,
  UnknownRunnable: UI_ERR_UNKNOWN_RUNNABLE,
  ForeignUser: UI_ERR_FOREIGN_USER
}

/** Creates the surface of a scope. @throws UI_ERR_BAD_OPTION */
export function createSurface(
  { runs, registry }: Pick<FastifyInstance, 'runs' | 'registry'>,
  settings: UiStreamSettings,
  place: string,
  prefix: string
): Surface {
  const policy = resolvePolicy(settings, runs.exposures.policy)
  const exposed = runs.exposures.add({
    surface: `@svc/ui-stream ${place}`,
    registry: settings.registry ?? registry,
    named: listNamed(settings, UI_ERR_BAD_OPTION),
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
