import type { OnDisconnect, RunEngine, RunnableKind } from '@svc/registry'
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
  OPENAI_ERR_BAD_OPTION,
  OPENAI_ERR_FORBIDDEN,
  OPENAI_ERR_FOREIGN_USER,
  OPENAI_ERR_MISSING_SCOPE,
  OPENAI_ERR_UNKNOWN_MODEL
} from './errors.ts'
import { toModel } from './models/model-name.ts'
import type { OpenAiSettings } from './options.ts'

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

/** No runnable of a kind has this name. */
class UnknownModel extends OPENAI_ERR_UNKNOWN_MODEL {
  constructor(kind: RunnableKind, name: string) {
    super(toModel(kind, name))
  }
}

const ADMISSION_ERRORS = {
  Forbidden: OPENAI_ERR_FORBIDDEN,
  MissingScope: OPENAI_ERR_MISSING_SCOPE,
  UnknownRunnable: UnknownModel,
  ForeignUser: OPENAI_ERR_FOREIGN_USER
}

/** Creates the surface of a scope. @throws OPENAI_ERR_BAD_OPTION */
export function createSurface(
  { runs, registry }: Pick<FastifyInstance, 'runs' | 'registry'>,
  settings: OpenAiSettings,
  place: string,
  prefix: string
): Surface {
  const policy = resolvePolicy(settings, runs.exposures.policy)
  const exposed = runs.exposures.add({
    surface: `@svc/openai ${place}`,
    registry: settings.registry ?? registry,
    named: listNamed(settings, OPENAI_ERR_BAD_OPTION),
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
