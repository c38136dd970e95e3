import {
  nameRequests,
  openSurface,
  refuseUnknownRoutes,
  resolveWireOptions,
  SESSION_DEFAULTS,
  type WireDescription,
  type WireOptions
} from '@svc/surface'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { agentRoutes } from './agents/agent-routes.ts'
import { deploymentRoutes } from './deployments/deployment-routes.ts'
import { deploymentRunRoutes } from './deployments/deployment-run-routes.ts'
import { environmentRoutes } from './environments/environment-routes.ts'
import { ANTHROPIC_ERR_ROUTE_NOT_FOUND } from './errors.ts'
import { eventRoutes } from './events/event-routes.ts'
import { fileRoutes } from './files/file-routes.ts'
import { refusedRoutes } from './refused-routes.ts'
import { sessionRoutes } from './sessions/session-routes.ts'
import { errors } from './surface-errors.ts'
import { threadRoutes } from './threads/thread-routes.ts'
import { toErrorBody } from './wire/error-body.ts'
import { requireRevision } from './wire/revision.ts'

const WIRE: WireDescription = {
  plugin: '@svc/anthropic',
  name: 'managed-agents',
  path: '/v1',
  document: '/v1/managed-agents/openapi.json',
  api: {
    title: 'Managed Agents',
    version: '1.0.0',
    tags: [
      { name: 'Agents', description: 'What sessions are held with' },
      { name: 'Environments', description: 'Where sessions run' },
      { name: 'Sessions', description: 'Conversations with an agent' },
      { name: 'Events', description: 'What a session was asked, and what it did' },
      { name: 'Threads', description: 'Members of teams and steps of workflows' },
      { name: 'Files', description: 'What sessions have made' },
      { name: 'Deployments', description: 'Sessions that begin at given times' }
    ]
  },
  errors,
  defaults: SESSION_DEFAULTS,
  tokenHeader: 'x-api-key',
  toBody: toErrorBody
}

/** Agents, teams and workflows over the Managed Agents API; adds a run engine to an app that has none. */
async function anthropic(app: FastifyInstance, options: WireOptions & RegisterOptions): Promise<void> {
  await openSurface(app, WIRE, resolveWireOptions(options, errors.BadOption), {
    prepare(scope) {
      nameRequests(scope, 'request-id')
      refuseUnknownRoutes(scope, app, ANTHROPIC_ERR_ROUTE_NOT_FOUND)
    },
    add(scope, surface) {
      requireRevision(scope)
      agentRoutes(scope, surface)
      environmentRoutes(scope, surface)
      sessionRoutes(scope, surface)
      eventRoutes(scope, surface)
      threadRoutes(scope, surface)
      fileRoutes(scope, surface)
      deploymentRoutes(scope, surface)
      deploymentRunRoutes(scope, surface)
      refusedRoutes(scope)
    }
  })
}

export default fp(anthropic, { name: '@svc/anthropic', fastify: '5.x' })
