import { isExposed, unlessLate } from '@svc/contract'
import { createParser } from 'eventsource-parser'
import { A2A_ERR_BAD_ANSWER, A2A_ERR_REMOTE } from '../../errors.ts'
import { parseRefusal } from '../../wire/read-refusal.ts'
import { isProtocolCode, protocolFault, statusFault } from './remote-fault.ts'
import type { RemoteCall, RemoteRequest, RemoteStream } from './transport.ts'

/** How long to wait for an answer. */
export interface Wait {
  signal?: AbortSignal | undefined
  /** Milliseconds until `read` is done; undefined: no limit. */
  timeout: number | undefined
}

/**
 * Sends a request and reads its answer; redirects are not followed.
 * @throws A2A_ERR_REMOTE, the signal's reason when it aborts, and errors of `read` itself
 */
export async function fetchAnswer<T>(
  url: string,
  init: { method: string; headers: Record<string, string>; body?: string },
  { signal, timeout }: Wait,
  read: (response: Response) => Promise<T>
): Promise<T> {
  const late = new AbortController()
  const timer =
    timeout && setTimeout(() => late.abort(new A2A_ERR_REMOTE('it does not answer in time')), timeout)
  let isBegun = false
  try {
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal
    })
    isBegun = true
    return await read(response)
  } catch (err) {
    signal?.throwIfAborted()
    late.signal.throwIfAborted()
    if (isExposed(err)) throw err
    throw new A2A_ERR_REMOTE(isBegun ? 'its answer breaks off' : 'it cannot be reached', { cause: err })
  } finally {
    clearTimeout(timer)
  }
}

/** An answer stalls before its end. */
class StalledError extends Error {
  constructor(ms: number) {
    super(`Nothing came for ${ms} ms`)
  }
}

/**
 * The chunks of an answer. Each has to arrive within `idleTimeout` milliseconds of being asked for.
 * @throws StalledError, and what the network throws
 */
export async function* readBody({ body }: Response, idleTimeout: number): AsyncGenerator<Uint8Array, void> {
  if (body === null) return
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await unlessLate(
        idleTimeout,
        () => new StalledError(idleTimeout),
        reader.read()
      )
      if (done) return
      yield value
    }
  } finally {
    // A reader that stops early needs no more of it.
    await reader.cancel().catch(() => {})
  }
}

/** The text of an answer, of at most `maxBytes`. @throws A2A_ERR_BAD_ANSWER, and what the chunks throw */
export async function readText(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw new A2A_ERR_BAD_ANSWER(`it is too large, over ${maxBytes} bytes`)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

type Request = Pick<RemoteRequest<RemoteCall | RemoteStream>, 'headers' | 'limits' | 'redact'>

/** A request of HTTP; its body is JSON. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: string
  readonly body?: object
  /** The media types of the body and of the answer. */
  readonly contentType: string
  readonly accept: string
}

/** Bytes of a refusal that are read. */
const MAX_REFUSAL = 65_536

/** The JSON of an answer. @throws A2A_ERR_REMOTE, A2A_ERR_BAD_ANSWER */
export async function fetchJson(request: Request, http: HttpRequest): Promise<unknown> {
  const text = await exchange(request, http, async (response) =>
    readText(chunksOf(await requireOk(response, request), request), request.limits.maxBytes)
  )
  return parseJson(text)
}

/** The JSON of each event of an answer, or of an answer that is no stream. @throws A2A_ERR_REMOTE, A2A_ERR_BAD_ANSWER */
export async function* fetchEvents(request: Request, http: HttpRequest): AsyncGenerator<unknown, void> {
  const { maxBytes } = request.limits
  const response = await exchange(request, http, (answer) => requireOk(answer, request))
  const chunks = chunksOf(response, request)
  if (response.headers.get('content-type')?.startsWith('text/event-stream'))
    for await (const data of readEvents(chunks, maxBytes)) yield parseJson(data)
  else yield parseJson(await readText(chunks, maxBytes))
}

/** The error of a refusal in JSON; undefined for other JSON. */
export function toRefusal(json: unknown, redact: (text: string) => string): Error | undefined {
  const found = parseRefusal(json)
  if (found === undefined) return undefined
  const { code, message } = found
  const details = [code, message].filter((each) => each !== undefined).join(' ')
  return protocolFault(redact(details || 'it does not say why'), code)
}

async function exchange<T>(
  { headers, limits }: Request,
  { method, url, body, contentType, accept }: HttpRequest,
  read: (response: Response) => Promise<T>
): Promise<T> {
  const content = body && { 'content-type': contentType }
  return fetchAnswer(
    url,
    { method, headers: { accept, ...content, ...headers }, ...(body && { body: JSON.stringify(body) }) },
    { signal: limits.signal, timeout: limits.timeout },
    read
  )
}

// Servers disagree on whether an error of the protocol has its own status.
async function requireOk(response: Response, { limits, redact }: Request): Promise<Response> {
  const { ok, status, url } = response
  if (ok) return response
  const json = status < 400 ? await response.body?.cancel() : await readRefusal(response, limits.idleTimeout)
  if (isProtocolCode(parseRefusal(json)?.code)) throw toRefusal(json, redact)!
  throw statusFault('it', status, url)
}

async function readRefusal(response: Response, idleTimeout: number): Promise<unknown> {
  try {
    return JSON.parse(await readText(readBody(response, idleTimeout), MAX_REFUSAL)) as unknown
  } catch {
    // The status says enough.
    return undefined
  }
}

async function* chunksOf(response: Response, { limits }: Request): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of readBody(response, limits.idleTimeout)) {
    limits.take(chunk.byteLength)
    yield chunk
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new A2A_ERR_BAD_ANSWER('it is not JSON')
  }
}

/**
 * The data of each event of an event stream, of at most `maxBytes`.
 * @throws A2A_ERR_BAD_ANSWER, and what the chunks throw
 */
async function* readEvents(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  const events: string[] = []
  // Bytes since the last event or comment: the parser skips a line of an unknown field however long it is.
  let unread = 0
  let isOver = false
  const parser = createParser({
    maxBufferSize: maxBytes,
    onEvent({ data }) {
      unread = 0
      events.push(data)
    },
    onComment() {
      unread = 0
    },
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded') isOver = true
    }
  })
  for await (const chunk of chunks) {
    unread += chunk.byteLength
    parser.feed(decoder.decode(chunk, { stream: true }))
    for (const data of events.splice(0)) {
      if (Buffer.byteLength(data) > maxBytes) throw tooLarge(maxBytes)
      yield data
    }
    if (isOver || unread > maxBytes) throw tooLarge(maxBytes)
  }
}

function tooLarge(maxBytes: number): Error {
  return new A2A_ERR_BAD_ANSWER(`an event is too large, over ${maxBytes} bytes`)
}
