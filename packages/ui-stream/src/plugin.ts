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
import { titleOf } from './chat/chat-schemas.ts'
import { chatRoutes } from './chat/chat-routes.ts'
import {
  UI_ERR_BAD_JSON,
  UI_ERR_BAD_OPTION,
  UI_ERR_BAD_REQUEST,
  UI_ERR_BODY_TOO_LARGE,
  UI_ERR_CROSS_ORIGIN,
  UI_ERR_INTERNAL,
  UI_ERR_INVALID_TOKEN,
  UI_ERR_NO_TOKEN,
  UI_ERR_UNSUPPORTED_MEDIA_TYPE
} from './errors.ts'
import { createSurface } from './surface.ts'

const REQUEST_ERRORS = {
  BadJson: UI_ERR_BAD_JSON,
  BadRequest: UI_ERR_BAD_REQUEST,
  UnsupportedMedia: UI_ERR_UNSUPPORTED_MEDIA_TYPE,
  BodyTooLarge: UI_ERR_BODY_TOO_LARGE,
  Internal: UI_ERR_INTERNAL,
  NoToken: UI_ERR_NO_TOKEN,
  InvalidToken: UI_ERR_INVALID_TOKEN,
  CrossOrigin: UI_ERR_CROSS_ORIGIN,
  challenges: {
    noToken: 'UI_ERR_NO_TOKEN',
    invalidToken: 'UI_ERR_INVALID_TOKEN',
    missingScope: 'UI_ERR_MISSING_SCOPE'
  }
}

/** Agents, teams and workflows as chats of the AI SDK; adds a run engine to an app that has none. */
async function uiStream(app: FastifyInstance, options: WireOptions & RegisterOptions): Promise<void> {
  const settings = resolveWireOptions(options, UI_ERR_BAD_OPTION)
  await ensureEngine(app, '@svc/ui-stream')
  warnOfTimeouts(app)

  // The scope is encapsulated: nothing in it changes the app.
  await app.register(async (scope) => {
    const surface = createSurface(scope, settings)
    keepPrivate(scope)
    requireStrictJson(scope, { ...settings, errors: REQUEST_ERRORS })
    refuseRequests(scope, REQUEST_ERRORS, (refusal, request) => ({
      ...refusal,
      error: titleOf(refusal.statusCode),
      requestId: request.id
    }))
    const openApi = describeRoutes(scope, {
      title: 'Chats of the AI SDK',
      version: '1.0.0',
      tags: [{ name: 'Chats', description: 'The UI message stream of the AI SDK, version 1' }],
      schemes: surface.policy.authenticate?.schemes
    })
    scope.get('/chat/openapi.json', () => openApi())
    await scope.register(async (guarded) => {
      identifyCallers(guarded, surface.policy, REQUEST_ERRORS)
      refuseFloods(guarded, { runs: surface.runs, ownerOf: ({ caller }) => caller.sub })
      for (const kind of RUNNABLE_KINDS)
        chatRoutes(
          guarded,
          surface,
          kind,
          `/chat/${kind}/:name`,
          `${kind[0]!.toUpperCase()}${kind.slice(1)}Chat`
        )
      chatRoutes(guarded, surface, 'agent', '/chat/:name', 'Chat')
    })
    surface.replies.endWith(scope)
  }, settings.registerOptions)
}

export default fp(uiStream, { name: '@svc/ui-stream', fastify: '5.x' })
