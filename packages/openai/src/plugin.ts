import { ensureEngine, warnOfTimeouts } from '@svc/registry/kit'
import {
  describeRoutes,
  identifyCallers,
  keepPrivate,
  refuseFloods,
  refuseRequests,
  requireStrictJson
} from '@svc/registry/wire-kit'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { completionRoutes } from './chat/completion-routes.ts'
import { modelRoutes } from './models/model-routes.ts'
import { responseRoutes } from './responses/response-routes.ts'
import { toErrorBody } from './wire/error-body.ts'
import {
  OPENAI_ERR_BAD_JSON,
  OPENAI_ERR_BAD_REQUEST,
  OPENAI_ERR_BODY_TOO_LARGE,
  OPENAI_ERR_CROSS_ORIGIN,
  OPENAI_ERR_INTERNAL,
  OPENAI_ERR_INVALID_TOKEN,
  OPENAI_ERR_NO_TOKEN,
  OPENAI_ERR_ROUTE_NOT_FOUND,
  OPENAI_ERR_UNSUPPORTED_MEDIA_TYPE
} from './errors.ts'
import { resolveOptions, type OpenAiOptions } from './options.ts'
import { createSurface } from './surface.ts'

const REQUEST_ERRORS = {
  BadJson: OPENAI_ERR_BAD_JSON,
  BadRequest: OPENAI_ERR_BAD_REQUEST,
  UnsupportedMedia: OPENAI_ERR_UNSUPPORTED_MEDIA_TYPE,
  BodyTooLarge: OPENAI_ERR_BODY_TOO_LARGE,
  Internal: OPENAI_ERR_INTERNAL,
  NoToken: OPENAI_ERR_NO_TOKEN,
  InvalidToken: OPENAI_ERR_INVALID_TOKEN,
  CrossOrigin: OPENAI_ERR_CROSS_ORIGIN,
  challenges: {
    noToken: 'OPENAI_ERR_NO_TOKEN',
    invalidToken: 'OPENAI_ERR_INVALID_TOKEN',
    missingScope: 'OPENAI_ERR_MISSING_SCOPE'
  }
}

/** Agents, teams and workflows as models of OpenAI's API; adds a run engine to an app that has none. */
async function openAi(app: FastifyInstance, options: OpenAiOptions & RegisterOptions): Promise<void> {
  const settings = resolveOptions(options)
  await ensureEngine(app, '@svc/openai')
  warnOfTimeouts(app)

  // The scope is encapsulated: nothing in it changes the app.
  await app.register(async (scope) => {
    const surface = createSurface(scope, settings)
    keepPrivate(scope)
    answerAll(scope, scope.prefix !== app.prefix)
    requireStrictJson(scope, { ...settings, ignoresQueries: true, errors: REQUEST_ERRORS })
    refuseRequests(scope, REQUEST_ERRORS, toErrorBody)
    const openApi = describeRoutes(scope, {
      title: 'Responses and Chat Completions',
      version: '1.0.0',
      tags: [
        { name: 'Responses', description: 'Open Responses, version 2026-04-24' },
        { name: 'Chat', description: 'Chat Completions' },
        { name: 'Models', description: 'What can be called' }
      ],
      schemes: surface.policy.authenticate?.schemes
    })
    scope.get('/openai/openapi.json', () => openApi())
    await scope.register(async (guarded) => {
      identifyCallers(guarded, surface.policy, REQUEST_ERRORS)
      refuseFloods(guarded, {
        runs: surface.runs,
        ownerOf: ({ caller }) => caller.sub,
        // Only the body says of which model.
        isRepeated: ({ headers }) => headers['idempotency-key'] !== undefined
      })
      responseRoutes(guarded, surface)
      completionRoutes(guarded, surface)
      modelRoutes(guarded, surface)
    })
    surface.replies.endWith(scope)
  }, settings.registerOptions)
}

// Each answer names its request, for the logs of both sides; below a prefix of its own, the scope answers unknown routes too.
function answerAll(scope: FastifyInstance, isBelowPrefix: boolean): void {
  scope.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id)
    done()
  })
  if (!isBelowPrefix) return
  scope.setNotFoundHandler(({ method, url }) => {
    throw new OPENAI_ERR_ROUTE_NOT_FOUND(`${method} ${url.split('?', 1)[0]}`)
  })
}

export default fp(openAi, { name: '@svc/openai', fastify: '5.x' })
