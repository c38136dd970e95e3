import { CONVERSATION_DEFAULTS, openSurface, type WireDescription } from '@svc/surface'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { completionRoutes } from './chat/completion-routes.ts'
import { OPENAI_ERR_ROUTE_NOT_FOUND } from './errors.ts'
import { modelRoutes } from './models/model-routes.ts'
import { resolveOptions, type OpenAiOptions } from './options.ts'
import { responseRoutes } from './responses/response-routes.ts'
import { errors } from './surface-errors.ts'
import { toErrorBody } from './wire/error-body.ts'

const WIRE: WireDescription = {
  plugin: '@svc/openai',
  name: 'openai',
  path: '',
  document: '/openai/openapi.json',
  api: {
    title: 'Responses and Chat Completions',
    version: '1.0.0',
    tags: [
      { name: 'Responses', description: 'Open Responses, version 2026-04-24' },
      { name: 'Chat', description: 'Chat Completions' },
      { name: 'Models', description: 'What can be called' }
    ]
  },
  errors,
  defaults: CONVERSATION_DEFAULTS,
  toBody: toErrorBody,
  ignoresQueries: true,
  // Only the body says of which model.
  isRepeated: ({ headers }) => headers['idempotency-key'] !== undefined
}

/** Agents, teams and workflows as models of OpenAI's API; adds a run engine to an app that has none. */
async function openAi(app: FastifyInstance, options: OpenAiOptions & RegisterOptions): Promise<void> {
  const { toolCalls, ...settings } = resolveOptions(options)
  await openSurface(app, WIRE, settings, {
    prepare: (scope) => answerAll(scope, scope.prefix !== app.prefix),
    add(scope, wireSurface) {
      const surface = { ...wireSurface, toolCalls }
      responseRoutes(scope, surface)
      completionRoutes(scope, surface)
      modelRoutes(scope, surface)
    }
  })
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
