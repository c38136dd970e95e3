import type { Part } from '../contract/part.ts'
import { toPartError, toStoredError } from '../runs/run-error.ts'

/** Headers of an event stream; `X-Accel-Buffering` keeps nginx from holding it back. */
export const SSE_HEADERS = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no'
})

/**
 * One message of an event stream: the JSON, and its number as the id to resume from.
 * @param json JSON text, which never has a line break outside of an escape
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export function encodeSse(seq: number, json: string): string {
  return `data: ${json}\nid: ${seq}\n\n`
}

/**
 * The last message of an event stream that ends before its run: an `error` part without a number, since it is in no log. Who
 * comes back goes on after the last part that has one.
 */
export function encodeSseFault(err: unknown): string {
  return `data: ${encodeFault(err)}\n\n`
}

/** The JSON of such a part. */
export function encodeFault(err: unknown): string {
  return JSON.stringify({ type: 'error', error: toPartError(toStoredError(err)) } satisfies Part)
}

/** A comment, which clients ignore and proxies count as life. */
export const SSE_HEARTBEAT = ':\n\n'

/** The last of a stream whose run goes on after the service is back: an EventSource comes back for the rest by itself. */
export const SSE_SUSPENDED = ': suspended, the run goes on when the service is back\n\n'
