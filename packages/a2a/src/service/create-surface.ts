import { KeyedLock } from '@svc/contract/stores'
import type { WireSurface } from '@svc/surface'
import { filePathOf } from '../bindings/file-route.ts'
import type { GrpcPort } from '../bindings/grpc-binding.ts'
import { createCard, toAgentFacts, toTenantFacts } from '../cards/build-card.ts'
import { DEFAULT_MODES } from '../model/media-types.ts'
import { cardSchemes, requireCaller, type A2aSettings } from '../options.ts'
import { PushService } from '../push/push-service.ts'
import { createCardSigner } from '../signatures/card-signer.ts'
import { createInlineFiles } from '../tasks/artifacts.ts'
import { createAgents } from './agents.ts'
import type { Surface } from './surface.ts'

/** Creates what the handlers share. @throws A2A_ERR_BAD_OPTION */
export function createSurface(wire: WireSurface<A2aSettings>, grpc: GrpcPort | undefined): Surface {
  const { runs, policy, prefix, log, settings } = wire
  requireCaller(settings, policy)
  const { url, push, inlineFiles, exposeToolResults, tasks = runs.stores.tasks } = settings
  const { files } = runs.stores
  const exposed = createAgents(wire.exposed)
  const path = prefix + settings.basePath || '/'
  const facts = {
    ...settings,
    pushNotifications: push !== false,
    extendedCard: settings.extendedCard !== undefined,
    securitySchemes: cardSchemes(policy.authenticate?.schemes)
  }
  const urlOf = (origin: string) => url ?? origin + path
  const ownUrlOf = (origin: string, agent: string) =>
    `${withoutSlash(urlOf(origin))}${settings.agentPath}/${encodeURIComponent(agent)}`
  const fileUrl = (origin: string, taskId: string, fileId: string) =>
    withoutSlash(urlOf(origin)) + filePathOf(taskId, fileId)
  const pushed = { runs, tasks, exposed, fileUrl, exposeToolResults, log }
  return {
    runs,
    tasks,
    turns: new KeyedLock(),
    exposed,
    policy,
    providerKeyHeaders: wire.providerKeyHeaders,
    pushes: push === false ? undefined : new PushService({ ...pushed, rules: push }, path),
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
    inputModes: settings.defaultInputModes ?? DEFAULT_MODES,
    outputModes: settings.defaultOutputModes ?? DEFAULT_MODES,
    dedupeWindow: settings.dedupeWindow,
    inline: files && inlineFiles > 0 ? createInlineFiles(files, inlineFiles, log) : undefined,
    reply: settings.reply,
    replyTimeout: settings.replyTimeout,
    exposeToolResults,
    heartbeat: wire.heartbeat
  }
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}
