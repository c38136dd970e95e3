import { openSurface } from '@svc/surface'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { errors } from './surface-errors.ts'
import { answerPreflights, guardOrigins } from './http/guard-origins.ts'
import { mcpRoutes } from './http/mcp-routes.ts'
import { describeResource } from './http/protected-resource.ts'
import { resolveOptions, type McpOptions } from './options.ts'
import { toRpcBody } from './server/call.ts'
import { identityOf } from './server/describe-server.ts'
import { Subscriptions } from './subscriptions/subscriptions.ts'

const WIRE = {
  plugin: '@svc/mcp',
  name: 'mcp',
  path: '/mcp',
  document: '/mcp/openapi.json',
  errors,
  defaults: { bodyLimit: 4_194_304 },
  toBody: toRpcBody
}
const TAGS = [{ name: 'MCP', description: 'The Model Context Protocol' }]

/** Agents, teams and workflows as the tools of an MCP server; adds a run engine to an app that has none. */
async function mcp(app: FastifyInstance, options: McpOptions & RegisterOptions): Promise<void> {
  const settings = resolveOptions(options)
  const { title = settings.name, version, origins } = settings
  await openSurface(app, { ...WIRE, api: { title, version, tags: TAGS }, origins }, settings, {
    prepare(scope, { prefix, policy }) {
      describeResource(scope, prefix + WIRE.path, settings)
      guardOrigins(scope, origins, policy.hosts)
      answerPreflights(scope, WIRE.path, 'POST')
    },
    add(scope, wire) {
      const surface = { ...wire, subscriptions: new Subscriptions(), identity: identityOf(settings) }
      mcpRoutes(scope, surface, WIRE.path)
      surface.subscriptions.endWith(scope, surface.exposed)
    }
  })
}

export default fp(mcp, { name: '@svc/mcp', fastify: '5.x' })
