import { nameRequests, openSurface, SESSION_DEFAULTS, type WireDescription } from '@svc/surface'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { errors } from '../surface-errors.ts'
import { toErrorBody } from '../wire/error-body.ts'
import { resolveAgentsOptions, type OpenAiAgentsOptions } from './options.ts'
import { agentRoutes } from './routes/agent-routes.ts'
import { artifactRoutes } from './routes/artifact-routes.ts'
import { automationRoutes } from './routes/automation-routes.ts'
import { invocationRoutes } from './routes/invocation-routes.ts'
import { eventRoutes } from './routes/event-routes.ts'
import { refusedRoutes } from './routes/refused-routes.ts'
import { sessionRoutes } from './routes/session-routes.ts'
import { turnRoutes } from './routes/turn-routes.ts'
import { requireRevision } from './wire/revision.ts'

const WIRE: WireDescription = {
  plugin: '@svc/openai/agents',
  name: 'openai-agents',
  path: '/agents',
  pathName: 'path',
  document: '/agents/openapi.json',
  api: {
    title: 'Agents',
    version: '1.0.0',
    tags: [
      { name: 'Agents', description: 'What can be asked' },
      { name: 'Sessions', description: 'Conversations' },
      { name: 'Events', description: 'What clients send, and what happens' },
      { name: 'Turns', description: 'Items, turns and subagents of sessions' },
      { name: 'Artifacts', description: 'Files that turns of sessions have made' },
      { name: 'Automations', description: 'Messages that are sent at given times' }
    ]
  },
  errors,
  defaults: SESSION_DEFAULTS,
  // Clients of the SDK know this error by the code.
  toBody(refusal) {
    const isUnknownCall = refusal.code === 'OPENAI_ERR_UNKNOWN_CALL'
    return toErrorBody(isUnknownCall ? { ...refusal, code: 'invalid_request_error' } : refusal)
  },
  ignoresQueries: true,
  isRepeated: ({ headers }) => headers['idempotency-key'] !== undefined
}

/** Sessions with agents, teams and workflows over OpenAI's Agents API; adds a run engine to an app that has none. */
async function openAiAgents(
  app: FastifyInstance,
  options: OpenAiAgentsOptions & RegisterOptions
): Promise<void> {
  const { toolCalls, ...settings } = resolveAgentsOptions(options)
  await openSurface(app, WIRE, settings, {
    prepare: (scope) => nameRequests(scope, 'x-request-id'),
    add(scope, wireSurface) {
      const surface = { ...wireSurface, toolCalls }
      requireRevision(scope)
      agentRoutes(scope, surface)
      sessionRoutes(scope, surface)
      eventRoutes(scope, surface)
      turnRoutes(scope, surface)
      artifactRoutes(scope, surface)
      automationRoutes(scope, surface)
      invocationRoutes(scope, surface)
      refusedRoutes(scope)
    }
  })
}

export default fp(openAiAgents, { name: '@svc/openai/agents', fastify: '5.x' })
