import { CONVERSATION_DEFAULTS, openSurface, type WireDescription } from '@svc/surface'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { chatRoutes } from './chat/chat-routes.ts'
import { titleOf } from './chat/chat-schemas.ts'
import { resolveOptions, type UiStreamOptions } from './options.ts'
import { errors } from './surface-errors.ts'

const WIRE: WireDescription = {
  plugin: '@svc/ui-stream',
  name: 'ui-stream',
  path: '/chat',
  document: '/chat/openapi.json',
  api: {
    title: 'Chats of the AI SDK',
    version: '1.0.0',
    tags: [{ name: 'Chats', description: 'The UI message stream of the AI SDK, version 1' }]
  },
  errors,
  defaults: CONVERSATION_DEFAULTS,
  toBody: (refusal, request) => ({ ...refusal, error: titleOf(refusal.statusCode), requestId: request.id })
}

/** Agents, teams and workflows as chats of the AI SDK; adds a run engine to an app that has none. */
async function uiStream(app: FastifyInstance, options: UiStreamOptions & RegisterOptions): Promise<void> {
  const { steeringMessages, ...settings } = resolveOptions(options)
  await openSurface(app, WIRE, settings, {
    add: (scope, surface) => chatRoutes(scope, { ...surface, steeringMessages })
  })
}

export default fp(uiStream, { name: '@svc/ui-stream', fastify: '5.x' })
