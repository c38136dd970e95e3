import {
  decodeJson,
  ensureEngine,
  keepPrivate,
  OpenReplies,
  refuseFloods,
  requireFreePlace,
  resolvePolicy,
  rootOf,
  warnOfTimeouts
} from '@svc/surface'
import type { Runnable } from '@svc/contract'
import { KeyedLock } from '@svc/contract/stores'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { authenticateRequests } from './auth/authenticate-requests.ts'
import type { Binding } from './bindings/binding.ts'
import { AgentPaths } from './bindings/agent-paths.ts'
import { GrpcPort } from './bindings/grpc-binding.ts'
import { agentRpcRoute, negotiateVersion, refuseRpc, rpcRoutes } from './bindings/json-rpc.ts'
import { agentFileRoute, filePathOf, fileRoute } from './bindings/file-route.ts'
import { agentRestRoutes, extendedCardRoutes, refuseRest, restRoutes } from './bindings/rest.ts'
import { createCard, type CardFacts } from './cards/build-card.ts'
import { cardRoutes } from './cards/card-routes.ts'
import { A2A_ERR_BAD_JSON, A2A_ERR_REGISTERED_TWICE } from './errors.ts'
import { DEFAULT_MODES } from './model/media-types.ts'
import { cardSchemes, requireCaller, resolveOptions, type A2aOptions } from './options.ts'
import { PushService } from './push/push-service.ts'
import { createInlineFiles } from './tasks/artifacts.ts'
import { createAgents, listAgents } from './service/agents.ts'
import { createCardSigner } from './signatures/card-signer.ts'
import type { Surface } from './service/surface.ts'
import { codecFor, MEDIA_TYPES } from './wire/codec-for.ts'
import type { ProtocolVersion } from './wire/versions.ts'

type Settings = ReturnType<typeof resolveOptions>

/** Serves agents over A2A; registers the run engine if the app has none. */
async function a2a(app: FastifyInstance, options: A2aOptions & RegisterOptions): Promise<void> {
  const settings = resolveOptions(options)
  await ensureEngine(app, '@svc/a2a')
  warnOfTimeouts(app)

  const { basePath, versions, bodyLimit, jsonDepth } = settings
  const path = app.prefix + basePath
  const place = `base path "${path || '/'}"`
  requireFreePlace(rootOf(app), '@svc/a2a', place, (taken) => new A2A_ERR_REGISTERED_TWICE(taken))
  const grpc = settings.grpc && new GrpcPort(settings.grpc)
  const surface = createSurface(app, settings, place, grpc)
  const streams = new OpenReplies()
  const binding: Binding = { surface, versions, streams }

  const { agentPath } = settings
  const paths = new AgentPaths(app, { path, agentPath, versions }, surface.exposed)

  cardRoutes(app, path, binding, paths)
  // The scope is encapsulated: nothing in it changes the app.
  await app.register(async (scope) => {
    keepPrivate(scope)
    takeJson(scope, settings)
    authenticateRequests(scope, surface.policy)
    refuseFloods(scope, { runs: surface.runs, ownerOf: ({ a2aPrincipal }) => a2aPrincipal.sub })
    scope.setErrorHandler((err: FastifyError, request, reply) => refuse(err, binding, request, reply))
    rpcRoutes(scope, basePath, binding)
    restRoutes(scope, basePath, binding)
    fileRoute(scope, basePath, binding)
    if (surface.extendCard !== undefined) extendedCardRoutes(scope, basePath, binding)
    agentRpcRoute(scope, basePath, binding, paths)
    agentRestRoutes(scope, basePath, binding, paths)
    agentFileRoute(scope, basePath, binding, paths)
    scope.addHook('onReady', async () => surface.pushes?.resume())
    streams.endWith(scope)
    if (grpc !== undefined) grpc.openWith(scope, { surface, versions, bodyLimit, jsonDepth })
    scope.addHook('onClose', async () => surface.pushes?.close())
  }, settings.registerOptions)
}

function createSurface(
  app: FastifyInstance,
  settings: Settings,
  place: string,
  grpc: GrpcPort | undefined
): Surface {
  const { runs } = app
  const { agents, registry = app.registry, tasks = runs.stores.tasks, push } = settings
  const { name, description, version, provider, versions, url } = settings
  const { documentationUrl, iconUrl, defaultInputModes, defaultOutputModes } = settings
  const { security, preferredBinding, additionalInterfaces } = settings
  const { heartbeat, exposeToolResults, dedupeWindow, reply, replyTimeout, inlineFiles, providerKeyHeaders } =
    settings
  const { files } = runs.stores
  const policy = resolvePolicy(settings, runs.surfaces.policy)
  requireCaller(settings, policy)
  const path = app.prefix + settings.basePath || '/'
  const exposed = createAgents(
    runs.surfaces.add({
      surface: `@svc/a2a ${place}`,
      registry,
      kinds: agents === undefined ? ['agent'] : [],
      named: agents && listAgents(agents),
      wire: { name: 'a2a', path, document: `${withoutSlash(path)}/.well-known/agent-card.json` },
      policy
    })
  )
  const facts = {
    name,
    description,
    version,
    provider,
    versions,
    documentationUrl,
    iconUrl,
    defaultInputModes,
    defaultOutputModes,
    security,
    preferredBinding,
    additionalInterfaces,
    pushNotifications: push !== false,
    extendedCard: settings.extendedCard !== undefined,
    extensions: settings.extensions,
    securitySchemes: cardSchemes(policy.authenticate?.schemes)
  }
  const urlOf = (origin: string) => url ?? origin + path
  const ownUrlOf = (origin: string, agent: string) =>
    `${withoutSlash(urlOf(origin))}${settings.agentPath}/${encodeURIComponent(agent)}`
  const fileUrl = (origin: string, taskId: string, fileId: string) =>
    withoutSlash(urlOf(origin)) + filePathOf(taskId, fileId)
  return {
    runs,
    tasks,
    turns: new KeyedLock(),
    exposed,
    policy,
    providerKeyHeaders,
    pushes:
      push === false
        ? undefined
        : new PushService(
            { runs, tasks, exposed, fileUrl, exposeToolResults, rules: push, log: app.log },
            path
          ),
    extendCard: settings.extendedCard,
    signer: settings.signCard && createCardSigner(settings.signCard),
    extensions: settings.extensions,
    buildCard(origin, tenant) {
      const known = { ...facts, grpcUrl: grpc?.urlFrom(url ?? origin) }
      return tenant === undefined
        ? createCard(exposed.all(), urlOf(origin), known)
        : createCard([tenant], urlOf(origin), toTenantFacts(known, tenant))
    },
    atEndpointOf: (agent) => ({
      buildCard: (origin) => createCard([agent], ownUrlOf(origin, agent.name), toAgentFacts(facts, agent)),
      fileUrl: (origin, taskId, fileId) => ownUrlOf(origin, agent.name) + filePathOf(taskId, fileId)
    }),
    fileUrl,
    inputModes: defaultInputModes ?? DEFAULT_MODES,
    outputModes: defaultOutputModes ?? DEFAULT_MODES,
    dedupeWindow,
    inline: files && inlineFiles > 0 ? createInlineFiles(files, inlineFiles, app.log) : undefined,
    reply,
    replyTimeout,
    exposeToolResults,
    heartbeat
  }
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}

// The card of a tenant has the versions in which requests can name it.
function toTenantFacts(
  facts: CardFacts & { versions: readonly ProtocolVersion[] },
  agent: Runnable
): CardFacts {
  const versions = facts.versions.filter((version) => codecFor(version, 'rpc').hasTenants)
  return { ...toAgentFacts(facts, agent), versions, tenant: agent.name }
}

// The card of one agent of several has what the agent says of itself.
function toAgentFacts(facts: CardFacts, { card = {} }: Runnable): CardFacts {
  return {
    ...facts,
    name: undefined,
    description: undefined,
    additionalInterfaces: undefined,
    defaultInputModes: card.inputModes ?? facts.defaultInputModes,
    defaultOutputModes: card.outputModes ?? facts.defaultOutputModes,
    documentationUrl: card.documentationUrl ?? facts.documentationUrl,
    iconUrl: card.iconUrl ?? facts.iconUrl
  }
}

function takeJson(scope: FastifyInstance, { bodyLimit, jsonDepth }: Settings): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser<Buffer>(
    [...MEDIA_TYPES],
    { parseAs: 'buffer', bodyLimit },
    (request, body, done) => {
      // Clients send the content type of JSON with an empty body too.
      if (body.length === 0 && request.routeOptions.config.a2aCodec !== undefined)
        return done(null, undefined)
      let value: unknown
      try {
        value = decodeJson(body, jsonDepth, A2A_ERR_BAD_JSON)
      } catch (err) {
        return done(err as Error)
      }
      return done(null, value)
    }
  )
}

function refuse(err: FastifyError, binding: Binding, request: FastifyRequest, reply: FastifyReply) {
  const { a2aCodec } = request.routeOptions.config
  if (a2aCodec !== undefined) return refuseRest(err, a2aCodec, request, reply)
  const { codec } = negotiateVersion(request, binding.versions, 'rpc')
  return refuseRpc(err, codec, 'null', request, reply)
}

export default fp(a2a, { name: '@svc/a2a', fastify: '5.x' })
