import { RUNNABLE_KINDS } from '@svc/registry'
import { ensureEngine, warnOfTimeouts } from '@svc/registry/kit'
import {
  describeRoutes,
  identifyCallers,
  keepPrivate,
  refuseFloods,
  refuseRequests,
  requireStrictJson,
  resolveWireOptions,
  type WireOptions
} from '@svc/registry/wire-kit'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { threadRoutes } from './threads/thread-routes.ts'
import {
  AGUI_ERR_BAD_JSON,
  AGUI_ERR_BAD_OPTION,
  AGUI_ERR_BAD_REQUEST,
  AGUI_ERR_BODY_TOO_LARGE,
  AGUI_ERR_CROSS_ORIGIN,
  AGUI_ERR_INTERNAL,
  AGUI_ERR_INVALID_TOKEN,
  AGUI_ERR_NO_TOKEN,
  AGUI_ERR_UNSUPPORTED_MEDIA_TYPE
} from './errors.ts'
import { createSurface } from './surface.ts'

const REQUEST_ERRORS = {
  BadJson: AGUI_ERR_BAD_JSON,
  BadRequest: AGUI_ERR_BAD_REQUEST,
  UnsupportedMedia: AGUI_ERR_UNSUPPORTED_MEDIA_TYPE,
  BodyTooLarge: AGUI_ERR_BODY_TOO_LARGE,
  Internal: AGUI_ERR_INTERNAL,
  NoToken: AGUI_ERR_NO_TOKEN,
  InvalidToken: AGUI_ERR_INVALID_TOKEN,
  CrossOrigin: AGUI_ERR_CROSS_ORIGIN,
  challenges: {
    noToken: 'AGUI_ERR_NO_TOKEN',
    invalidToken: 'AGUI_ERR_INVALID_TOKEN',
    missingScope: 'AGUI_ERR_MISSING_SCOPE'
  }
}

/** Agents, teams and workflows over AG-UI; adds a run engine to an app that has none. */
async function agUi(app: FastifyInstance, options: WireOptions & RegisterOptions): Promise<void> {
  const settings = resolveWireOptions(options, AGUI_ERR_BAD_OPTION)
  await ensureEngine(app, '@svc/ag-ui')
  warnOfTimeouts(app)

  // The scope is encapsulated: nothing in it changes the app.
  await app.register(async (scope) => {
    const surface = createSurface(scope, settings)
    keepPrivate(scope)
    requireStrictJson(scope, { ...settings, errors: REQUEST_ERRORS })
    refuseRequests(scope, REQUEST_ERRORS, ({ message, code, ...about }, request) => ({
      type: 'RUN_ERROR',
      message,
      code,
      metadata: { ...about, requestId: request.id }
    }))
    const openApi = describeRoutes(scope, {
      title: 'AG-UI',
      version: '1.0.0',
      tags: [{ name: 'Runs', description: 'The Agent-User Interaction protocol, version 1.0' }],
      schemes: surface.policy.authenticate?.schemes
    })
    scope.get('/ag-ui/openapi.json', () => openApi())
    await scope.register(async (guarded) => {
      identifyCallers(guarded, surface.policy, REQUEST_ERRORS)
      refuseFloods(guarded, { runs: surface.runs, ownerOf: ({ caller }) => caller.sub })
      for (const kind of RUNNABLE_KINDS)
        threadRoutes(
          guarded,
          surface,
          kind,
          `/ag-ui/${kind}/:name`,
          `${kind[0]!.toUpperCase()}${kind.slice(1)}Run`
        )
      threadRoutes(guarded, surface, 'agent', '/ag-ui/:name', 'Run')
    })
    surface.replies.endWith(scope)
  }, settings.registerOptions)
}

export default fp(agUi, { name: '@svc/ag-ui', fastify: '5.x' })
