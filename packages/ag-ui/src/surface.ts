import { createWireSurface, type WireSettings, type WireSurface } from '@svc/registry/wire-kit'
import type { FastifyInstance } from 'fastify'
import {
  AGUI_ERR_BAD_OPTION,
  AGUI_ERR_FORBIDDEN,
  AGUI_ERR_FOREIGN_USER,
  AGUI_ERR_MISSING_SCOPE,
  AGUI_ERR_REGISTERED_TWICE,
  AGUI_ERR_UNKNOWN_RUNNABLE
} from './errors.ts'

const WIRE = { plugin: '@svc/ag-ui', name: 'ag-ui', path: '/ag-ui', document: '/ag-ui/openapi.json' }

/** Shared by all routes. */
export type Surface = WireSurface

/** Creates the surface of a scope. @throws AGUI_ERR_BAD_OPTION, AGUI_ERR_REGISTERED_TWICE */
export function createSurface(scope: FastifyInstance, settings: WireSettings): Surface {
  return createWireSurface(scope, WIRE, settings, {
    BadOption: AGUI_ERR_BAD_OPTION,
    RegisteredTwice: AGUI_ERR_REGISTERED_TWICE,
    Forbidden: AGUI_ERR_FORBIDDEN,
    MissingScope: AGUI_ERR_MISSING_SCOPE,
    UnknownRunnable: AGUI_ERR_UNKNOWN_RUNNABLE,
    ForeignUser: AGUI_ERR_FOREIGN_USER
  })
}
