import type { IncomingMessage } from 'node:http'

/** Milliseconds that a client has to stop sending what is refused. */
const LINGER = 5_000

const discarded = new WeakSet<IncomingMessage>()

/**
 * Throws away what a client still sends, so that it can read its refusal: were the connection closed at once, it might learn
 * no more than that. One that goes on sending is cut off.
 */
export function discardRest(raw: IncomingMessage): void {
  if (!hasRest(raw) || discarded.has(raw)) return
  discarded.add(raw)
  const cut = setTimeout(() => raw.destroy(), LINGER)
  cut.unref()
  const stop = () => clearTimeout(cut)
  raw.once('end', stop).once('close', stop).resume()
}

/** Whether more of the body is to come. */
export function hasRest({ complete, destroyed, headers }: IncomingMessage): boolean {
  if (complete || destroyed) return false
  return Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined
}
