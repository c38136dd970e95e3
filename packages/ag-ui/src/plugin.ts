import {
  CONVERSATION_DEFAULTS,
  openSurface,
  resolveWireOptions,
  type WireDescription,
  type WireOptions
} from '@svc/surface'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { errors } from './surface-errors.ts'
import { threadRoutes } from './threads/thread-routes.ts'

const WIRE: WireDescription = {
  plugin: '@svc/ag-ui',
  name: 'ag-ui',
  path: '/ag-ui',
  document: '/ag-ui/openapi.json',
  api: {
    title: 'AG-UI',
    version: '1.0.0',
    tags: [{ name: 'Runs', description: 'The Agent-User Interaction protocol, version 1.0' }]
  },
  errors,
  defaults: CONVERSATION_DEFAULTS,
  toBody: ({ message, code, ...about }, request) => ({
    type: 'RUN_ERROR',
    message,
    code,
    metadata: { ...about, requestId: request.id }
  })
}

/** Agents, teams and workflows over AG-UI; adds a run engine to an app that has none. */
async function agUi(app: FastifyInstance, options: WireOptions & RegisterOptions): Promise<void> {
  await openSurface(app, WIRE, resolveWireOptions(options, errors.BadOption), {
    add: threadRoutes
  })
}

export default fp(agUi, { name: '@svc/ag-ui', fastify: '5.x' })
