import type { Awaitable, RunContext } from '@svc/contract'
import { hasMethods, resolveChoice } from '@svc/runtime/loop'
import { RUN_ERR_BAD_MODEL, type ModelRequest } from '@svc/runtime'
import type { ClientEvent } from './client-event.ts'

/** Where a realtime model listens, with the credentials of the server. */
export interface ServerConnection {
  readonly url: string
  readonly headers: Record<string, string>
  readonly protocols?: string[]
}

/**
 * A realtime model of the AI SDK whose WebSocket the server opens, e.g. `openai.experimental_realtime('gpt-realtime')`. It is the part
 * of `Experimental_RealtimeModelV4` that calls use, since those types may change in a patch.
 */
export interface RealtimeModel {
  readonly specificationVersion: 'v4'
  readonly provider: string
  readonly modelId: string
  readonly capabilities?: { readonly conversation: 'continuous' | 'turn-based' }
  getServerWebSocketConfig?(): ServerConnection | PromiseLike<ServerConnection>
  /** A parser with the state of one connection; default: `parseServerEvent`. */
  createServerEventParser?(): (raw: unknown) => unknown
  parseServerEvent(raw: unknown): unknown
  /** Undefined or null for what the provider does not take. */
  serializeClientEvent(event: ClientEvent): unknown
  /** The answer to a frame of the provider's that only asks whether the connection is alive. */
  getHealthCheckResponse?(raw: unknown): unknown
}

/** Returns the realtime model of one call, e.g. with the caller's own key. */
export type RealtimeModelFunction = (request: ModelRequest) => Awaitable<RealtimeModel>

const EXPECTED = 'pass a realtime model, e.g. openai.experimental_realtime("gpt-realtime") of @ai-sdk/openai'

/**
 * Prepares the `model` option for the calls of an agent.
 * @throws RUN_ERR_BAD_MODEL for anything but a realtime model or a function
 */
export function resolveRealtimeModel(
  model: RealtimeModel | RealtimeModelFunction,
  provider?: string
): (context: RunContext) => Awaitable<RealtimeModel> {
  if (hasMethods(model, ['getToken'])) throw new RUN_ERR_BAD_MODEL(`the factory itself; ${EXPECTED}`)
  return resolveChoice(model, provider, requireRealtimeModel)
}

/** True for a realtime model, as opposed to other models of the AI SDK. */
function isRealtimeModel(model: unknown): model is RealtimeModel {
  return hasMethods(model, ['parseServerEvent', 'serializeClientEvent'])
}

function requireRealtimeModel(model: unknown): RealtimeModel {
  if (!isRealtimeModel(model)) throw new RUN_ERR_BAD_MODEL(EXPECTED)
  const { specificationVersion: version, capabilities } = model
  if (version !== 'v4') throw new RUN_ERR_BAD_MODEL(`specification version ${String(version)}; v4 is known`)
  if (typeof model.getServerWebSocketConfig !== 'function')
    throw new RUN_ERR_BAD_MODEL('a server cannot open its connection: it has no getServerWebSocketConfig')
  if (capabilities?.conversation === 'continuous')
    throw new RUN_ERR_BAD_MODEL(
      `"${model.modelId}" holds a conversation without turns; models with turns are supported, e.g. with { api: "realtime" }`
    )
  return model
}
