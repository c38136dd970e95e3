import type { IncomingMessage } from 'node:http'

/** Milliseconds that a client may keep sending a refused body. */
const LINGER = 5_000

const discarding = new WeakMap<IncomingMessage, Promise<void>>()

/**
 * Drains the body so the client can read the refusal before we close; cuts it off after `LINGER`. Resolves when the body
 * or the connection has ended.
 */
export function discardRest(raw: IncomingMessage): Promise<void> {
  let discarded = discarding.get(raw)
  if (discarded === undefined) discarding.set(raw, (discarded = discard(raw)))
  return discarded
}

/** Whether part of the body is still unread. */
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
