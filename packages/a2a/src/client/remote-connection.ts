import { isTellable } from '@svc/registry'
import { A2A_ERR_BAD_ANSWER, A2A_ERR_REMOTE } from '../errors.ts'
import { EXTENSION_HEADERS } from '../extensions.ts'
import type { ProtocolVersion } from '../model/agent-card.ts'
import type { Message } from '../model/message.ts'
import type { OperationName } from '../model/requests.ts'
import type { TaskEvent } from '../model/task-event.ts'
import { OPERATIONS } from '../operations.ts'
import type { ClientCodec } from '../wire/client-codec.ts'
import { fields } from '../wire/read-answer.ts'
import { clientV03 } from '../wire/v0.3/answers.ts'
import { clientV10 } from '../wire/v1.0/answers.ts'
import { Credentials } from './credentials.ts'
import { findEndpoint, type Endpoint, type Fetched } from './find-endpoint.ts'
import { readEvents } from './read-events.ts'
import { readText } from './read-text.ts'
import { rpcFault, statusFault } from './remote-fault.ts'
import type { RemoteAgentOptions } from './remote-options.ts'

const DIALECTS: Readonly<Record<ProtocolVersion, ClientCodec>> = { '0.3': clientV03, '1.0': clientV10 }

/** Speaks JSON-RPC with one service, in the version that it speaks. */
export class RemoteConnection {
  readonly #options: RemoteAgentOptions
  readonly #credentials: Credentials
  readonly #timeout: number
  #endpoint: Promise<Endpoint> | undefined
  #requests = 0

  constructor(options: RemoteAgentOptions) {
    this.#options = options
    this.#credentials = new Credentials(options)
    this.#timeout = options.timeout ?? 30_000
  }

  /** The events of a message's task; of a service that does not stream, its one answer. */
  async *send(message: Message, signal: AbortSignal): AsyncGenerator<TaskEvent, void> {
    const { streaming } = await this.#find(signal)
    if (streaming) yield* this.#stream('stream', (dialect) => dialect.encodeSend(message), signal)
    else yield await this.#call('send', (dialect) => dialect.encodeSend(message), signal)
  }

  async *subscribe(id: string, signal: AbortSignal): AsyncGenerator<TaskEvent, void> {
    yield* this.#stream('subscribe', () => ({ id }), signal)
  }

  get(id: string, signal: AbortSignal): Promise<TaskEvent> {
    return this.#call('get', () => ({ id }), signal)
  }

  cancel(id: string, signal: AbortSignal): Promise<TaskEvent> {
    return this.#call('cancel', () => ({ id }), signal)
  }

  /** A text of the service without the credentials that it was shown. */
  hide(text: string): string {
    return this.#credentials.hide(text)
  }

  // A card that could not be read is read again the next time.
  #find(signal: AbortSignal): Promise<Endpoint> {
    const { url, version } = this.#options
    this.#endpoint ??=
      version === undefined
        ? findEndpoint(url, (card) => this.#fetch(card, { method: 'GET' }, undefined, readWhole))
        : Promise.resolve({ url, version, streaming: true })
    this.#endpoint.catch(() => (this.#endpoint = undefined))
    return raceSignal(this.#endpoint, signal)
  }

  async *#stream(
    name: OperationName,
    params: (dialect: ClientCodec) => object,
    signal: AbortSignal
  ): AsyncGenerator<TaskEvent, void> {
    const { version } = await this.#find(signal)
    const response = await this.#post(name, params, 'text/event-stream', signal, readStatus)
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      yield DIALECTS[version].decodeAnswer(this.#resultOf(await readJson(response)))
      return
    }
    for await (const data of readEvents((response.body ?? []) as AsyncIterable<Uint8Array>))
      yield DIALECTS[version].decodeAnswer(this.#resultOf(parseJson(data)))
  }

  async #call(
    name: OperationName,
    params: (dialect: ClientCodec) => object,
    signal: AbortSignal
  ): Promise<TaskEvent> {
    const { version } = await this.#find(signal)
    const answer = await this.#post(name, params, 'application/json', signal, async (response) =>
      readJson(await readStatus(response))
    )
    return DIALECTS[version].decodeAnswer(this.#resultOf(answer))
  }

  async #post<T>(
    name: OperationName,
    params: (dialect: ClientCodec) => object,
    accept: string,
    signal: AbortSignal,
    read: (response: Response) => Promise<T>
  ): Promise<T> {
    const { url, version, tenant } = await this.#find(signal)
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: ++this.#requests,
      method: OPERATIONS[name].rpc[version],
      params: { ...params(DIALECTS[version]), ...(tenant !== undefined && { tenant }) }
    })
    const { extensions = [] } = this.#options
    const headers = {
      accept,
      'content-type': 'application/json',
      ...(version === '1.0' && { 'a2a-version': version }),
      ...(extensions.length > 0 && { [EXTENSION_HEADERS[version]]: extensions.join(', ') })
    }
    // A service that does not stream answers when its work is done.
    const timeout = name === 'send' ? undefined : this.#timeout
    return this.#fetch(url, { method: 'POST', headers, body }, signal, read, timeout)
  }

  // What `read` reads of an answer has to be there in time.
  async #fetch<T>(
    url: string,
    init: { method: string; headers?: Record<string, string>; body?: string },
    signal: AbortSignal | undefined,
    read: (response: Response) => Promise<T>,
    timeout: number | undefined = this.#timeout
  ): Promise<T> {
    const headers = { ...init.headers, ...(await this.#credentials.headers()) }
    const begun = new AbortController()
    const timer =
      timeout && setTimeout(() => begun.abort(new A2A_ERR_REMOTE('it does not answer in time')), timeout)
    try {
      const response = await fetch(url, {
        ...init,
        headers,
        redirect: 'error',
        signal: signal ? AbortSignal.any([signal, begun.signal]) : begun.signal
      })
      return await read(response)
    } catch (err) {
      signal?.throwIfAborted()
      begun.signal.throwIfAborted()
      if (isTellable(err)) throw err
      throw new A2A_ERR_REMOTE('it cannot be reached', { cause: err })
    } finally {
      clearTimeout(timer)
    }
  }

  #resultOf(response: unknown): unknown {
    const { result, error } = fields(response)
    if (error === undefined || error === null) return result
    const { code, message } = fields(error)
    const said = [code, message].filter((each) => typeof each === 'string' || typeof each === 'number')
    throw rpcFault(this.hide(said.join(' ') || 'it does not say why').slice(0, 500), code)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new A2A_ERR_BAD_ANSWER('it is no JSON')
  }
}

async function readStatus(response: Response): Promise<Response> {
  if (response.ok) return response
  await response.body?.cancel()
  const { status, url } = response
  throw statusFault(`it answers with status ${status}`, status, url)
}

async function readJson(response: Response): Promise<unknown> {
  return parseJson(await readText(response))
}

async function readWhole(response: Response): Promise<Fetched> {
  const { ok, status } = response
  if (!ok) await response.body?.cancel()
  return { ok, status, text: ok ? await readText(response) : '' }
}

function raceSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
