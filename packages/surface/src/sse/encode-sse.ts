import { toPartError, toStoredError, type NumberedPart, type Part } from '@svc/contract'

/**
 * Headers of every event stream: `no-transform` keeps proxies from compressing it, and thereby from holding events back;
 * `X-Accel-Buffering` keeps nginx from buffering it.
 */
export const SSE_HEADERS = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no'
})

/**
 * Encodes one message of an event stream: the JSON, and the id to resume from.
 * @param json JSON text, which contains no raw line breaks
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export function encodeSse(id: number | string, json: string): string {
  return `data: ${json}\nid: ${id}\n\n`
}

/**
 * Encodes the last message of an event stream that ends before its run: an `error` part without a number, since it is not in the
 * log. A client that reconnects continues after the last numbered part.
 */
export function encodeSseFault(err: unknown): string {
  return encodeUnnumbered(encodeFault(err))
}

/** Encodes a message that is not in the log, and after which no client can continue. */
export function encodeUnnumbered(json: string): string {
  return `data: ${json}\n\n`
}

/** The JSON of an unnumbered `error` part. */
export function encodeFault(err: unknown): string {
  const error = toPartError(toStoredError(err))
  return JSON.stringify({ type: 'error', at: Date.now(), error } satisfies Part & Pick<NumberedPart, 'at'>)
}

/** A comment, which clients ignore and which keeps proxies from timing out. */
export const SSE_HEARTBEAT = ':\n\n'

/** The end of a stream whose run is resumed once the service is back; an EventSource reconnects by itself. */
export const SSE_SUSPENDED = ': suspended, the run resumes when the service is back\n\n'
