import { andThen, dropOldest, isPromise, type Awaitable, type RunContext } from '@svc/contract'
import { errors, type ModelRequest } from '@svc/runtime'
import { hasMethods, isRecord, nameOfProvider, resolveChoice } from '@svc/runtime/loop'
import { readServerEvents, type ClientEvent, type ServerEvent, type SessionConfig } from './events.ts'

// Events of one connection by which doubled ones are noticed.
const MAX_IDS = 2_048

/** What the provider of a model takes. */
export interface Abilities {
  /** Conversations of items, as in OpenAI's protocol: earlier messages can be added, and setups are acknowledged. */
  readonly items: boolean
  /** Responses begin when they are asked for; else the provider begins them by itself. */
  readonly create: boolean
  readonly cancel: boolean
  readonly truncate: boolean
}

/** An item that is in the conversation before the model takes part in it. */
export type EarlierItem = (
  | {
      readonly message: { readonly role: 'user' | 'assistant'; readonly text: string }
      readonly call?: never
    }
  | {
      readonly message?: never
      readonly call: { readonly callId: string; readonly name: string; readonly args: string }
    }
) & {
  /** Default: the end of the conversation. `after`: an item, or `root`. */
  readonly place?: { readonly id: string; readonly after: string } | undefined
}

/** Translates the events of one connection between calls and the provider. */
export class RealtimeCodec {
  readonly abilities: Abilities
  readonly #model: RealtimeModel
  readonly #parse: (raw: unknown) => unknown
  readonly #seen = new Set<string>()

  constructor(model: RealtimeModel) {
    this.#model = model
    this.#parse = model.createServerEventParser?.() ?? ((raw) => model.parseServerEvent(raw))
    const takes = (event: ClientEvent) => this.#serialize(event) !== undefined
    this.abilities = {
      items: hasItems(this.#serialize(toTextItem('-'))),
      create: takes({ type: 'response-create' }),
      cancel: takes({ type: 'response-cancel' }),
      truncate: takes({ type: 'conversation-item-truncate', itemId: '-', contentIndex: 0, audioEndMs: 0 })
    }
  }

  /** The frame of an event; undefined if the provider takes none. `eventId` names it in the provider's errors, where it has some. */
  encode(event: ClientEvent, eventId?: string): Awaitable<string | undefined> {
    const raw =
      event.type === 'session-update'
        ? serializeSession(this.#model.provider, event.config, (each) => this.#serialize(each))
        : this.#serialize(event)
    return isPromise(raw) ? raw.then((value) => toFrame(value, eventId)) : toFrame(raw, eventId)
  }

  /** The frame that adds an earlier message or call of a tool after another item; undefined without items. */
  encodeEarlier({ message, call, place }: EarlierItem): string | undefined {
    const sample = this.#serialize(toTextItem('-'))
    if (!hasItems(sample)) return undefined
    const item =
      message === undefined
        ? { type: 'function_call', call_id: call.callId, name: call.name, arguments: call.args }
        : {
            type: 'message',
            role: message.role,
            content: [{ type: message.role === 'user' ? 'input_text' : 'output_text', text: message.text }]
          }
    if (place === undefined) return JSON.stringify({ ...sample, item })
    const { id, after } = place
    return JSON.stringify({ ...sample, previous_item_id: after, item: { id, ...item } })
  }

  /** The events of a frame, and the frame that the provider expects in return; what cannot be read is left out. */
  decode(frame: string): { readonly events: readonly ServerEvent[]; readonly reply?: string } {
    try {
      const raw: unknown = JSON.parse(frame)
      if (!isRecord(raw) || this.#isDoubled(raw['event_id'])) return NOTHING
      const reply = this.#model.getHealthCheckResponse?.(raw)
      const events = readServerEvents(this.#parse(raw))
      return isRecord(reply) ? { events, reply: JSON.stringify(reply) } : { events }
    } catch {
      return NOTHING
    }
  }

  #isDoubled(id: unknown): boolean {
    if (typeof id !== 'string') return false
    if (this.#seen.has(id)) return true
    this.#seen.add(id)
    dropOldest(this.#seen, MAX_IDS)
    return false
  }

  #serialize(event: ClientEvent): Awaitable<Raw | undefined> {
    const raw = this.#model.serializeClientEvent(event)
    return andThen(raw, toRaw)
  }
}

const NOTHING = { events: [] }

const toTextItem = (text: string): ClientEvent => ({
  type: 'conversation-item-create',
  item: { type: 'text-message', role: 'user', text }
})

function toRaw(value: unknown): Raw | undefined {
  return isRecord(value) ? value : undefined
}

function toFrame(raw: Raw | undefined, eventId: string | undefined): string | undefined {
  if (raw === undefined) return undefined
  return JSON.stringify(eventId !== undefined && 'type' in raw ? { ...raw, event_id: eventId } : raw)
}

function hasItems(raw: unknown): raw is Raw & { item: Raw } {
  return isRecord(raw) && raw['type'] === 'conversation.item.create' && isRecord(raw['item'])
}

/** An event of a provider. */
type Raw = Record<string, unknown>

/**
 * The event that sets a session up. Codecs replace whole objects by those of `providerOptions`, which would lose the voice; so the
 * options are merged here.
 */
function serializeSession(
  provider: string,
  { providerOptions, ...config }: SessionConfig,
  serialize: (event: ClientEvent) => Awaitable<Raw | undefined>
): Awaitable<Raw | undefined> {
  const own = serialize({ type: 'session-update', config })
  if (own === undefined || isPromise(own)) return own
  leaveResponsesToUs(own)
  const name = nameOfProvider(provider)
  const options = providerOptions?.[name]
  if (options === undefined) return own
  const whole = serialize({
    type: 'session-update',
    config: { ...config, providerOptions: { [name]: options } }
  })
  return whole === undefined || isPromise(whole) ? whole : mergeDeep(own, withoutName(whole, name))
}

// The call decides when a turn is answered, and what interrupts an answer.
function leaveResponsesToUs(own: Raw): void {
  const { session } = own as { session?: { audio?: { input?: { turn_detection?: unknown } } } }
  const detection = session?.audio?.input?.turn_detection
  if (isRecord(detection)) Object.assign(detection, { create_response: false, interrupt_response: false })
}

// Most codecs put all options into the session as they are, with the name of their provider.
function withoutName(raw: Raw, name: string): Raw {
  const lift = (value: unknown) => {
    const options = isRecord(value) ? value[name] : undefined
    if (!isRecord(value) || !isRecord(options)) return value
    const { [name]: _, ...rest } = value
    return { ...rest, ...options }
  }
  return Object.fromEntries(Object.entries(raw).map(([key, value]) => [key, lift(value)]))
}

// Of two values that are not both records the second counts.
function mergeDeep(first: Raw, second: Raw): Raw {
  const merged = new Map(Object.entries(first))
  for (const [key, value] of Object.entries(second)) {
    const own = merged.get(key)
    merged.set(key, isRecord(own) && isRecord(value) ? mergeDeep(own, value) : value)
  }
  return Object.fromEntries(merged)
}

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
  if (hasMethods(model, ['getToken'])) throw new errors.RUN_ERR_BAD_MODEL(`the factory itself; ${EXPECTED}`)
  return resolveChoice(model, provider, requireRealtimeModel)
}

/** True for a realtime model, as opposed to other models of the AI SDK. */
function isRealtimeModel(model: unknown): model is RealtimeModel {
  return hasMethods(model, ['parseServerEvent', 'serializeClientEvent'])
}

function requireRealtimeModel(model: unknown): RealtimeModel {
  if (!isRealtimeModel(model)) throw new errors.RUN_ERR_BAD_MODEL(EXPECTED)
  const { specificationVersion: version, capabilities } = model
  if (version !== 'v4')
    throw new errors.RUN_ERR_BAD_MODEL(`specification version ${String(version)}; v4 is known`)
  if (typeof model.getServerWebSocketConfig !== 'function')
    throw new errors.RUN_ERR_BAD_MODEL(
      'a server cannot open its connection: it has no getServerWebSocketConfig'
    )
  if (capabilities?.conversation === 'continuous')
    throw new errors.RUN_ERR_BAD_MODEL(
      `"${model.modelId}" holds a conversation without turns; models with turns are supported, e.g. with { api: "realtime" }`
    )
  return model
}
