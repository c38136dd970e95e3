import {
  describeRoutes,
  ensureEngine,
  identifyCallers,
  keepPrivate,
  refuseFloods,
  refuseRequests,
  requireFreePlace,
  requireStrictJson,
  rootOf,
  warnOfTimeouts
} from '@svc/surface'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { MCP_ERR_REGISTERED_TWICE } from './errors.ts'
import { answerPreflights, guardOrigins } from './http/guard-origins.ts'
import { mcpRoutes } from './http/mcp-routes.ts'
import { describeResource } from './http/protected-resource.ts'
import { idOf } from './protocol/message.ts'
import { resolveOptions, type McpOptions } from './options.ts'
import { rpcCodeOf } from './server/call.ts'
import { createSurface } from './surface.ts'
import { errors } from './surface-errors.ts'

const PATH = '/mcp'

/** Agents, teams and workflows as the tools of an MCP server; adds a run engine to an app that has none. */
async function mcp(app: FastifyInstance, options: McpOptions & RegisterOptions): Promise<void> {
  const settings = resolveOptions(options)
  await ensureEngine(app, '@svc/mcp')
  warnOfTimeouts(app)

  // The scope is encapsulated: nothing in it changes the app.
  await app.register(async (scope) => {
    const prefix = scope.prefix.replace(/\/+$/, '')
    const place = `prefix "${prefix || '/'}"`
    requireFreePlace(rootOf(scope), '@svc/mcp', place, (taken) => new MCP_ERR_REGISTERED_TWICE(taken))
    const surface = createSurface(app, settings, place, prefix + PATH)
    keepPrivate(scope)
    requireStrictJson(scope, { ...settings, errors })
    refuseRequests(scope, errors, (refusal, { body }) => ({
      jsonrpc: '2.0',
      id: idOf(body),
      error: { code: rpcCodeOf(refusal), message: refusal.message, data: { code: refusal.code } }
    }))
    const openApi = describeRoutes(scope, {
      title: settings.title ?? settings.name,
      version: settings.version,
      tags: [{ name: 'MCP', description: 'The Model Context Protocol' }],
      schemes: surface.policy.authenticate?.schemes
    })
    describeResource(scope, `${prefix}${PATH}`, settings)
    const { hosts } = surface.policy
    guardOrigins(scope, settings.origins, hosts)
    answerPreflights(scope, PATH, 'POST')
    scope.get(`${PATH}/openapi.json`, () => openApi())
    await scope.register(async (guarded) => {
      // Pages of these origins were let in already.
      const pages = settings.origins.flatMap((origin) => URL.parse(origin)?.hostname ?? [])
      identifyCallers(guarded, { ...surface.policy, hosts: [...hosts, ...pages] }, errors)
      refuseFloods(guarded, { runs: surface.runs, ownerOf: ({ caller }) => caller.sub })
      mcpRoutes(guarded, surface, PATH)
    })
    surface.subscriptions.endWith(scope, surface.exposed)
    surface.replies.endWith(scope)
  }, settings.registerOptions)
}

export default fp(mcp, { name: '@svc/mcp', fastify: '5.x' })
