import { A2A_ERR_BAD_ANSWER, A2A_ERR_REMOTE } from '../../errors.ts'
import type { ProtocolVersion } from '../../wire/versions.ts'

/** An operation that has one answer. */
export type RemoteCall = 'send' | 'get' | 'cancel'

/** An operation that answers with a stream of events. */
export type RemoteStream = 'stream' | 'subscribe'

/** The limits of one answer, and of the task that it belongs to. */
export interface AnswerLimits extends Limits {
  /** Milliseconds until the answer begins; of one that does not stream, until it is complete. Undefined: no limit. */
  readonly timeout: number | undefined
  /** Milliseconds between two pieces of the answer. */
  readonly idleTimeout: number
  /** Bytes of the answer; of a stream, of each event. */
  readonly maxBytes: number
}

/** A request of a remote agent, whatever the binding. */
export interface RemoteRequest<Operation extends RemoteCall | RemoteStream> {
  readonly operation: Operation
  /** The endpoint that the card names. */
  readonly url: string
  readonly version: ProtocolVersion
  /** The tenant that the request has to name; `params` have it too. */
  readonly tenant: string | undefined
  /** `{ message }` of `send` and `stream`, `{ id }` of the others, in the JSON of the version. */
  readonly params: Readonly<Record<string, unknown>>
  /** Service parameters and credentials: headers, or the metadata of the binding. */
  readonly headers: Readonly<Record<string, string>>
  readonly limits: AnswerLimits
  /** Redacts the credentials from a text of the service. */
  redact(text: string): string
}

/**
 * A binding of the protocol, from the client's side: it carries the JSON of requests and answers. Both methods throw
 * `A2A_ERR_REMOTE` if the service refuses, `A2A_ERR_BAD_ANSWER` if its answer is no JSON or exceeds the limits, and the reason of
 * `limits.signal` when it aborts.
 */
export interface RemoteTransport {
  /** Its name on cards, e.g. `JSONRPC`. */
  readonly binding: string
  /** The JSON of params and answers: that of JSON-RPC, or that of the protocol's proto. From 1.0 on both are the same. */
  readonly form: 'rpc' | 'rest'
  /** The endpoint that a card names, relative to the card's URL; null if it is invalid. Default: as a URL of HTTP. */
  locate?(given: string, base: URL): URL | null
  /** True if its endpoint may be at another port than the card. Default: false. */
  readonly hasOwnPort?: boolean
  /** The JSON of the answer. */
  call(request: RemoteRequest<RemoteCall>): Promise<unknown>
  /** The JSON of each event. */
  stream(request: RemoteRequest<RemoteStream>): AsyncIterable<unknown>
}

/** The limit of a task, as a multiple of that of one answer. */
const ANSWERS_PER_TASK = 16

/** The limits of a task, besides the size of one answer. */
export interface Limits {
  /** Aborts when the time is over, or the run ends. */
  readonly signal: AbortSignal
  /** Counts received bytes. @throws A2A_ERR_BAD_ANSWER over the limit */
  take(bytes: number): void
}

/** Limits the duration of a task, and the bytes of all its answers. */
export class TaskLimits implements Limits {
  readonly signal: AbortSignal
  readonly #deadline = new AbortController()
  readonly #timer: NodeJS.Timeout
  readonly #most: number
  #bytes = 0

  constructor(maxBytes: number, timeout: number, outer: AbortSignal) {
    this.#most = maxBytes * ANSWERS_PER_TASK
    this.signal = AbortSignal.any([outer, this.#deadline.signal])
    const over = () => this.#deadline.abort(new A2A_ERR_REMOTE(`its task takes longer than ${timeout} ms`))
    this.#timer = setTimeout(over, timeout).unref()
  }

  take(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > this.#most)
      throw new A2A_ERR_BAD_ANSWER(`it sends more than ${this.#most} bytes for one task`)
  }

  /** The error itself, or the time-out that caused it. */
  reasonOf(err: unknown): unknown {
    return this.#deadline.signal.aborted ? this.#deadline.signal.reason : err
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
