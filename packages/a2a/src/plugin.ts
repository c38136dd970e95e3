import { openSurface, type WireDescription } from '@svc/surface'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { AgentPaths } from './bindings/agent-paths.ts'
import type { Binding } from './bindings/binding.ts'
import { agentFileRoute, fileRoute } from './bindings/file-route.ts'
import { GrpcPort } from './bindings/grpc-binding.ts'
import { agentRpcRoute, negotiateVersion, refuseRpc, rpcRoutes } from './bindings/json-rpc.ts'
import { agentRestRoutes, extendedCardRoutes, refuseRest, restRoutes } from './bindings/rest.ts'
import { cardRoutes } from './cards/card-routes.ts'
import { errors } from './surface-errors.ts'
import { resolveOptions, type A2aOptions } from './options.ts'
import { listAgents } from './service/agents.ts'
import { createSurface } from './service/create-surface.ts'
import { MEDIA_TYPES } from './wire/codec-for.ts'

const WIRE = {
  plugin: '@svc/a2a',
  name: 'a2a',
  pathName: 'base path',
  errors,
  ignoresQueries: true,
  ignoresCookies: true,
  mediaTypes: MEDIA_TYPES,
  // JSON-RPC has a body, which says that it is absent by its own error.
  allowsEmpty: ({ config }) => config?.a2aCodec !== undefined
} satisfies Partial<WireDescription>

/** Serves agents over A2A; registers the run engine if the app has none. */
async function a2a(app: FastifyInstance, options: A2aOptions & RegisterOptions): Promise<void> {
  const settings = resolveOptions(options)
  const { agents, basePath, agentPath, versions } = settings
  const grpc = settings.grpc && new GrpcPort(settings.grpc)
  const wire: WireDescription = {
    ...WIRE,
    path: basePath,
    document: `${basePath}/.well-known/agent-card.json`,
    kinds: agents === undefined ? ['agent'] : [],
    named: agents && listAgents(agents)
  }
  await openSurface(app, wire, settings, {
    add(scope, shared) {
      const surface = createSurface(shared, grpc)
      const binding: Binding = { surface, versions, streams: shared.replies }
      const path = shared.prefix + basePath
      const paths = new AgentPaths(app, { path, agentPath, versions }, surface.exposed)
      cardRoutes(app, path, binding, paths)
      refuse(scope, binding)
      rpcRoutes(scope, basePath, binding)
      restRoutes(scope, basePath, binding)
      fileRoute(scope, basePath, binding)
      if (surface.extendCard !== undefined) extendedCardRoutes(scope, basePath, binding)
      agentRpcRoute(scope, basePath, binding, paths)
      agentRestRoutes(scope, basePath, binding, paths)
      agentFileRoute(scope, basePath, binding, paths)
      scope.addHook('onReady', async () => surface.pushes?.resume())
      const { bodyLimit, jsonDepth } = shared
      grpc?.openWith(scope, { surface, versions, bodyLimit, jsonDepth })
      scope.addHook('onClose', async () => surface.pushes?.close())
    }
  })
}

// In the version of the request, and the form of the route's binding.
function refuse(scope: FastifyInstance, binding: Binding): void {
  scope.setErrorHandler((err, request, reply) => {
    const { a2aCodec } = request.routeOptions.config
    if (a2aCodec !== undefined) return refuseRest(err, a2aCodec, request, reply)
    const { codec } = negotiateVersion(request, binding.versions, 'rpc')
    return refuseRpc(err, codec, 'null', request, reply)
  })
}

export default fp(a2a, { name: '@svc/a2a', fastify: '5.x' })
