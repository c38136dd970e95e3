import { createWireSurface, type WireSettings, type WireSurface } from '@svc/registry/wire-kit'
import type { FastifyInstance } from 'fastify'
import {
  UI_ERR_BAD_OPTION,
  UI_ERR_FORBIDDEN,
  UI_ERR_FOREIGN_USER,
  UI_ERR_MISSING_SCOPE,
  UI_ERR_REGISTERED_TWICE,
  UI_ERR_UNKNOWN_RUNNABLE
} from './errors.ts'

const WIRE = { plugin: '@svc/ui-stream', name: 'ui-stream', path: '/chat', document: '/chat/openapi.json' }

/** Shared by all routes. */
export type Surface = WireSurface

/** Creates the surface of a scope. @throws UI_ERR_BAD_OPTION, UI_ERR_REGISTERED_TWICE */
export function createSurface(scope: FastifyInstance, settings: WireSettings): Surface {
  return createWireSurface(scope, WIRE, settings, {
    BadOption: UI_ERR_BAD_OPTION,
    RegisteredTwice: UI_ERR_REGISTERED_TWICE,
    Forbidden: UI_ERR_FORBIDDEN,
    MissingScope: UI_ERR_MISSING_SCOPE,
    UnknownRunnable: UI_ERR_UNKNOWN_RUNNABLE,
    ForeignUser: UI_ERR_FOREIGN_USER
  })
}
