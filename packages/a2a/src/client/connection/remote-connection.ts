import { A2A_ERR_BAD_ANSWER } from '../../errors.ts'
import type { Message } from '../../model/message.ts'
import type { OperationName } from '../../model/requests.ts'
import type { TaskEvent } from '../../model/task.ts'
import { OPERATIONS } from '../../operations.ts'
import { clientCodecFor } from '../../wire/codec-for.ts'
import type { ClientCodec } from '../../wire/codec.ts'
import { fields } from '../../wire/read-answer.ts'
import { REMOTE_DEFAULTS, type RemoteAgentOptions } from '../remote-options.ts'
import { Credentials } from './credentials.ts'
import { fetchAnswer, requireStatus, type Wait } from './fetch-answer.ts'
import { findEndpoint, type Endpoint, type Fetched } from './find-endpoint.ts'
import { readBody, readText } from './read-body.ts'
import { readEvents } from './read-events.ts'
import { rpcFault } from './remote-fault.ts'
import { TaskLimits, type Limits } from './task-limits.ts'

/** Bytes of a card. */
const MAX_CARD = 1_048_576

/** A JSON-RPC client of one service, in a version that the service speaks. */
export class RemoteConnection {
  readonly #options: RemoteAgentOptions
  readonly #credentials: Credentials
  readonly #timeout: number
  readonly #maxBytes: number
  #endpoint: Promise<Endpoint> | undefined
  #requests = 0

  constructor(options: RemoteAgentOptions) {
    this.#options = options
    this.#credentials = new Credentials(options)
    this.#timeout = options.timeout ?? REMOTE_DEFAULTS.timeout
    this.#maxBytes = options.maxBytes ?? REMOTE_DEFAULTS.maxBytes
  }

  /** The events of a message's task, or the single answer of a service that does not stream. */
  async *send(message: Message, limits: Limits): AsyncGenerator<TaskEvent, void> {
    const { streaming } = await this.#find(limits.signal)
    if (streaming) yield* this.#stream('stream', (dialect) => dialect.encodeSend(message), limits)
    else yield await this.#call('send', (dialect) => dialect.encodeSend(message), limits)
  }

  async *subscribe(id: string, limits: Limits): AsyncGenerator<TaskEvent, void> {
    yield* this.#stream('subscribe', () => ({ id }), limits)
  }

  get(id: string, limits: Limits): Promise<TaskEvent> {
    return this.#call('get', () => ({ id }), limits)
  }

  cancel(id: string, signal: AbortSignal): Promise<TaskEvent> {
    return this.#call('cancel', () => ({ id }), { signal, take() {} })
  }

  limit(signal: AbortSignal): TaskLimits {
    return new TaskLimits(this.#maxBytes, this.#options.taskTimeout ?? REMOTE_DEFAULTS.taskTimeout, signal)
  }

  /** Redacts our credentials from a text of the service. */
  redact(text: string): string {
    return this.#credentials.redact(text)
  }

  // After a failure the card is read again.
  #find(signal: AbortSignal): Promise<Endpoint> {
    const { url, version } = this.#options
    this.#endpoint ??=
      version === undefined
        ? findEndpoint(url, (card) =>
            this.#ask(card, { method: 'GET' }, { timeout: this.#timeout }, (response) =>
              this.#readCard(response)
            )
          )
        : Promise.resolve({ url, codec: clientCodecFor(version), streaming: true })
    this.#endpoint.catch(() => (this.#endpoint = undefined))
    return raceSignal(this.#endpoint, signal)
  }

  async *#stream(
    name: OperationName,
    params: (dialect: ClientCodec) => object,
    limits: Limits
  ): AsyncGenerator<TaskEvent, void> {
    const { codec } = await this.#find(limits.signal)
    const response = await this.#post(name, params, 'text/event-stream', limits.signal, requireStatus)
    const chunks = this.#chunksOf(response, limits)
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      yield this.#decode(codec, await readText(chunks, this.#maxBytes))
      return
    }
    for await (const data of readEvents(chunks, this.#maxBytes)) yield this.#decode(codec, data)
  }

  async #call(
    name: OperationName,
    params: (dialect: ClientCodec) => object,
    limits: Limits
  ): Promise<TaskEvent> {
    const { codec } = await this.#find(limits.signal)
    const answer = await this.#post(name, params, 'application/json', limits.signal, async (response) =>
      readText(this.#chunksOf(await requireStatus(response), limits), this.#maxBytes)
    )
    return this.#decode(codec, answer)
  }

  async #post<T>(
    name: OperationName,
    params: (dialect: ClientCodec) => object,
    accept: string,
    signal: AbortSignal,
    read: (response: Response) => Promise<T>
  ): Promise<T> {
    const { url, codec, tenant } = await this.#find(signal)
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: ++this.#requests,
      method: OPERATIONS[name].rpc[codec.version],
      params: { ...params(codec), ...(tenant !== undefined && { tenant }) }
    })
    const { extensions = [] } = this.#options
    const headers = {
      accept,
      'content-type': 'application/json',
      ...codec.headers,
      ...(extensions.length > 0 && { [codec.extensionHeader]: extensions.join(', ') })
    }
    // A service that does not stream answers once its work is done.
    const timeout = name === 'send' ? undefined : this.#timeout
    return this.#ask(url, { method: 'POST', headers, body }, { signal, timeout }, read)
  }

  async #ask<T>(
    url: string,
    { headers, ...init }: { method: string; headers?: Record<string, string>; body?: string },
    wait: Wait,
    read: (response: Response) => Promise<T>
  ): Promise<T> {
    return fetchAnswer(
      url,
      { ...init, headers: { ...headers, ...(await this.#credentials.headers()) } },
      wait,
      read
    )
  }

  async *#chunksOf(response: Response, limits: Limits): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of readBody(response, this.#options.idleTimeout ?? REMOTE_DEFAULTS.idleTimeout)) {
      limits.take(chunk.byteLength)
      yield chunk
    }
  }

  async #readCard(response: Response): Promise<Fetched> {
    const { ok, status } = response
    if (!ok) await response.body?.cancel()
    return { ok, status, text: ok ? await readText(readBody(response, this.#timeout), MAX_CARD) : '' }
  }

  #decode(codec: ClientCodec, text: string): TaskEvent {
    const { result, error } = fields(parseJson(text))
    if (error === undefined || error === null) return codec.decodeAnswer(result)
    const { code, message } = fields(error)
    const details = [code, message].filter((each) => typeof each === 'string' || typeof each === 'number')
    throw rpcFault(this.redact(details.join(' ') || 'it does not say why').slice(0, 500), code)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new A2A_ERR_BAD_ANSWER('it is not JSON')
  }
}

function raceSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
