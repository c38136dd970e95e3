import {
  CONVERSATION_DEFAULTS,
  nameRequests,
  openSurface,
  refuseUnknownRoutes,
  whileServing,
  type WireDescription
} from '@svc/surface'
import { routeUpgrades, WebSockets } from '@svc/surface/sockets'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { completionRoutes } from './chat/completion-routes.ts'
import { OPENAI_ERR_ROUTE_NOT_FOUND } from './errors.ts'
import { modelRoutes } from './models/model-routes.ts'
import { resolveOptions, type OpenAiOptions } from './options.ts'
import { responseRoutes } from './responses/response-routes.ts'
import { RESPONSES, responseSocketRoute } from './sockets/response-socket-route.ts'
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
    prepare(scope) {
      nameRequests(scope, 'x-request-id')
      refuseUnknownRoutes(scope, app, OPENAI_ERR_ROUTE_NOT_FOUND)
    },
    add(scope, wireSurface) {
      const surface = { ...wireSurface, toolCalls }
      responseRoutes(scope, surface)
      const sockets = new WebSockets({ maxPayload: surface.bodyLimit })
      responseSocketRoute(scope, surface, sockets)
      routeUpgrades(app, surface.prefix + RESPONSES)
      whileServing(app, async () => {
        await surface.runs.close()
        await sockets.close()
      })
      // Connections of the last moment.
      app.addHook('preClose', () => sockets.close())
      completionRoutes(scope, surface)
      modelRoutes(scope, surface)
    }
  })
}

export default fp(openAi, { name: '@svc/openai', fastify: '5.x' })
