import type { IncomingMessage } from 'node:http'

/** Milliseconds that a client has to stop sending what is refused. */
const LINGER = 5_000

const discarding = new WeakMap<IncomingMessage, Promise<void>>()

/**
 * Throws away what a client still sends, so that it can read its refusal: were the connection closed at once, it might learn
 * no more than that. One that goes on sending is cut off. Resolves when nothing more comes.
 */
export function discardRest(raw: IncomingMessage): Promise<void> {
  let discarded = discarding.get(raw)
  if (discarded === undefined) discarding.set(raw, (discarded = discard(raw)))
  return discarded
}

/** Whether more of the body is to come. */
export function hasRest({ complete, destroyed, headers }: IncomingMessage): boolean {
  if (complete || destroyed) return false
  return Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined
}

async function discard(raw: IncomingMessage): Promise<void> {
  if (!hasRest(raw)) return
  const cut = setTimeout(() => raw.destroy(), LINGER)
  cut.unref()
  await new Promise<void>((resolve) => raw.once('end', resolve).once('close', resolve).resume())
  clearTimeout(cut)
}
