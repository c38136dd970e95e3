import type { RunnableKind } from '@svc/registry'
import { createWireSurface, type WireSurface } from '@svc/registry/wire-kit'
import type { FastifyInstance } from 'fastify'
import {
  OPENAI_ERR_BAD_OPTION,
  OPENAI_ERR_FORBIDDEN,
  OPENAI_ERR_FOREIGN_USER,
  OPENAI_ERR_MISSING_SCOPE,
  OPENAI_ERR_REGISTERED_TWICE,
  OPENAI_ERR_UNKNOWN_MODEL
} from './errors.ts'
import { toModel } from './models/model-name.ts'
import type { OpenAiSettings, ToolCallsShown } from './options.ts'

const WIRE = { plugin: '@svc/openai', name: 'openai', path: '', document: '/openai/openapi.json' }

/** Shared by all routes. */
export interface Surface extends WireSurface {
  readonly toolCalls: ToolCallsShown
}

/** No runnable of a kind has this name. */
class UnknownModel extends OPENAI_ERR_UNKNOWN_MODEL {
  constructor(kind: RunnableKind, name: string) {
    super(toModel(kind, name))
  }
}

/** Creates the surface of a scope. @throws OPENAI_ERR_BAD_OPTION, OPENAI_ERR_REGISTERED_TWICE */
export function createSurface(scope: FastifyInstance, settings: OpenAiSettings): Surface {
  const surface = createWireSurface(scope, WIRE, settings, {
    BadOption: OPENAI_ERR_BAD_OPTION,
    RegisteredTwice: OPENAI_ERR_REGISTERED_TWICE,
    Forbidden: OPENAI_ERR_FORBIDDEN,
    MissingScope: OPENAI_ERR_MISSING_SCOPE,
    UnknownRunnable: UnknownModel,
    ForeignUser: OPENAI_ERR_FOREIGN_USER
  })
  return { ...surface, toolCalls: settings.toolCalls }
}
