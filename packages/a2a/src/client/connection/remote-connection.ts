import { dropOldest } from '@svc/contract'
import { createRedact } from '@svc/surface'
import { A2A_ERR_BAD_OPTION } from '../../errors.ts'
import type { Message } from '../../model/message.ts'
import type { TaskEvent } from '../../model/task.ts'
import { createCardVerifier, type CardVerifier } from '../../signatures/card-verifier.ts'
import { clientCodecFor } from '../../wire/codec-for.ts'
import type { ClientCodec } from '../../wire/codec.ts'
import { REMOTE_DEFAULTS, type RemoteAgentOptions } from '../remote-options.ts'
import {
  extend,
  findEndpoint,
  readEndpoint,
  readFreshness,
  type CardReading,
  type Endpoint,
  type Fetched,
  type Freshness,
  type KeptCard
} from './find-endpoint.ts'
import { fetchAnswer, readBody, readText } from './http-answer.ts'
import { httpJsonTransport, jsonRpcTransport } from './http-transports.ts'
import {
  TaskLimits,
  type Limits,
  type RemoteCall,
  type RemoteRequest,
  type RemoteStream,
  type RemoteTransport
} from './transport.ts'

/**
 * The transports that an agent may use: those of the options replace ours of the same binding. With `version`, the first one is
 * used.
 * @throws A2A_ERR_BAD_OPTION
 */
function chooseTransports({
  transports = [],
  binding
}: Pick<RemoteAgentOptions, 'transports' | 'binding'>): readonly RemoteTransport[] {
  const all = new Map<string, RemoteTransport>()
  for (const each of [jsonRpcTransport(), httpJsonTransport(), ...transports]) all.set(each.binding, each)
  if (binding === undefined) return [...all.values()]
  const chosen = all.get(binding)
  if (chosen === undefined)
    throw new A2A_ERR_BAD_OPTION(
      `binding: no transport speaks ${JSON.stringify(binding)}: add one to transports`
    )
  return [chosen]
}

/** The last values sent: a token may change with every request. */
const MAX_SENT = 32

/** The headers of requests. Redacts their values from the service's errors. */
class Credentials {
  readonly #options: Pick<RemoteAgentOptions, 'headers' | 'token'>
  readonly #sent = new Set<string>()

  constructor(options: Pick<RemoteAgentOptions, 'headers' | 'token'>) {
    this.#options = options
  }

  async headers(): Promise<Record<string, string>> {
    const { headers, token } = this.#options
    const given = typeof headers === 'function' ? await headers() : headers
    const bearer = typeof token === 'function' ? await token() : token
    const all = { ...given, ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }) }
    for (const value of Object.values(all)) this.#remember(value)
    return all
  }

  /** Redacts the values sent so far from a text of the service. */
  redact(text: string): string {
    const secrets = [...this.#sent].flatMap((value) => [value, ...value.split(/\s+/)])
    return createRedact(secrets)?.(text) ?? text
  }

  #remember(value: string): void {
    this.#sent.delete(value)
    this.#sent.add(value)
    dropOldest(this.#sent, MAX_SENT)
  }
}

/** Bytes of a card. */
const MAX_CARD = 1_048_576

/** Milliseconds that an old card counts while its service does not answer. */
const STALE_FOR = 10_000

interface Peer extends Endpoint {
  readonly codec: ClientCodec
  /** Undefined if no card is read. */
  readonly card?: KeptCard
}

/** A client of one service, in a version and over a binding that both speak. */
export class RemoteConnection {
  readonly #options: RemoteAgentOptions
  readonly #transports: readonly RemoteTransport[]
  readonly #credentials: Credentials
  readonly #timeout: number
  readonly #idleTimeout: number
  readonly #maxBytes: number
  readonly #verify: CardVerifier | undefined
  #peer: Promise<Peer> | undefined

  /** @throws A2A_ERR_BAD_OPTION */
  constructor(options: RemoteAgentOptions) {
    this.#options = options
    this.#transports = chooseTransports(options)
    this.#credentials = new Credentials(options)
    this.#verify = options.verify && createCardVerifier(options.verify)
    this.#timeout = options.timeout ?? REMOTE_DEFAULTS.timeout
    this.#idleTimeout = options.idleTimeout ?? REMOTE_DEFAULTS.idleTimeout
    this.#maxBytes = options.maxBytes ?? REMOTE_DEFAULTS.maxBytes
  }

  /** The events of a message's task, or the single answer of a service that does not stream. */
  async *send(message: Message, limits: Limits): AsyncGenerator<TaskEvent, void> {
    const { codec, streaming } = await this.#findFresh(limits.signal)
    const params = codec.encodeSend(message)
    if (streaming) yield* this.#stream('stream', params, limits)
    else yield await this.#call('send', params, limits)
  }

  /** True if the service streams the events of its tasks. */
  async streams(signal: AbortSignal): Promise<boolean> {
    return (await this.#find(signal)).streaming
  }

  subscribe(id: string, limits: Limits): AsyncGenerator<TaskEvent, void> {
    return this.#stream('subscribe', { id }, limits)
  }

  get(id: string, limits: Limits): Promise<TaskEvent> {
    return this.#call('get', { id }, limits)
  }

  cancel(id: string, signal: AbortSignal): Promise<TaskEvent> {
    return this.#call('cancel', { id }, { signal, take() {} })
  }

  limit(signal: AbortSignal): TaskLimits {
    return new TaskLimits(this.#maxBytes, this.#options.taskTimeout ?? REMOTE_DEFAULTS.taskTimeout, signal)
  }

  /** Redacts our credentials from a text of the service. */
  redact(text: string): string {
    return this.#credentials.redact(text)
  }

  async *#stream(
    operation: RemoteStream,
    params: Record<string, unknown>,
    limits: Limits
  ): AsyncGenerator<TaskEvent, void> {
    const { codec, transport, ...endpoint } = await this.#find(limits.signal)
    const request = await this.#request(operation, params, codec, endpoint, limits)
    for await (const event of transport.stream(request)) yield codec.decodeAnswer(event)
  }

  async #call(operation: RemoteCall, params: Record<string, unknown>, limits: Limits): Promise<TaskEvent> {
    const { codec, transport, ...endpoint } = await this.#find(limits.signal)
    const request = await this.#request(operation, params, codec, endpoint, limits)
    return codec.decodeAnswer(await transport.call(request))
  }

  async #request<Operation extends RemoteCall | RemoteStream>(
    operation: Operation,
    params: Record<string, unknown>,
    { version, headers, extensionHeader, hasTenants }: ClientCodec,
    { url, tenant: named }: Pick<Endpoint, 'url' | 'tenant'>,
    task: Limits
  ): Promise<RemoteRequest<Operation>> {
    const tenant = hasTenants ? named : undefined
    const { extensions = [] } = this.#options
    return {
      operation,
      url,
      version,
      tenant,
      params: tenant === undefined ? params : { ...params, tenant },
      headers: {
        ...headers,
        ...(extensions.length > 0 && { [extensionHeader]: extensions.join(', ') }),
        ...(await this.#credentials.headers())
      },
      limits: {
        signal: task.signal,
        take: (bytes) => task.take(bytes),
        // A service that does not stream answers once its work is done.
        timeout: operation === 'send' ? undefined : this.#timeout,
        idleTimeout: this.#idleTimeout,
        maxBytes: this.#maxBytes
      },
      redact: (text) => this.#credentials.redact(text)
    }
  }

  // After a failure the card is read again.
  #find(signal: AbortSignal): Promise<Peer> {
    this.#peer ??= this.#connect()
    this.#peer.catch(() => (this.#peer = undefined))
    return raceSignal(this.#peer, signal)
  }

  // For each message; the other requests of a task go where it was sent.
  async #findFresh(signal: AbortSignal): Promise<Peer> {
    const known = this.#peer
    if (known === undefined) return this.#find(signal)
    const peer = await raceSignal(known, signal)
    const { card } = peer
    // Of several messages at once, the first one asks.
    if (card !== undefined && card.freshness.until <= Date.now() && this.#peer === known)
      this.#peer = this.#renew(peer, card)
    return this.#find(signal)
  }

  async #connect(): Promise<Peer> {
    const { version, url } = this.#options
    if (version !== undefined)
      return toPeer({ url, version, transport: this.#transports[0]!, streaming: true })
    return toPeer(await findEndpoint(this.#reading(), (card) => this.#fetchCard(card)))
  }

  async #renew(peer: Peer, card: KeptCard): Promise<Peer> {
    const { url, freshness } = card
    let fetched: Fetched
    try {
      fetched = await this.#fetchCard(url, freshness)
    } catch {
      return { ...peer, card: { url, freshness: extend(freshness, STALE_FOR) } }
    }
    const { ok, status, text } = fetched
    if (status === 304) return { ...peer, card: { url, freshness: fetched.freshness } }
    if (ok)
      return toPeer({
        ...(await readEndpoint(text, this.#reading())),
        card: { url, freshness: fetched.freshness }
      })
    return status >= 500
      ? { ...peer, card: { url, freshness: extend(freshness, STALE_FOR) } }
      : this.#connect()
  }

  #reading(): CardReading {
    return { base: this.#options.url, transports: this.#transports, verify: this.#verify }
  }

  async #fetchCard(url: string, before?: Freshness): Promise<Fetched> {
    const headers = { ...before?.validators, ...(await this.#credentials.headers()) }
    return fetchAnswer(url, { method: 'GET', headers }, { timeout: this.#timeout }, async (response) => {
      const { ok, status } = response
      const freshness = readFreshness(response.headers, status === 304 ? before : undefined)
      if (!ok) await response.body?.cancel()
      const text = ok ? await readText(readBody(response, this.#timeout), MAX_CARD) : ''
      return { ok, status, text, freshness }
    })
  }
}

function toPeer(endpoint: Endpoint & { card?: KeptCard }): Peer {
  return { ...endpoint, codec: clientCodecFor(endpoint.version, endpoint.transport.form) }
}

function raceSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
