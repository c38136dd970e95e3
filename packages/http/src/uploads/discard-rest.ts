import type { IncomingMessage } from 'node:http'

/** Milliseconds that a client has to stop sending what is refused. */
const LINGER = 2_000

/** Throws away what a client still sends, so that it can read its refusal; one that goes on sending is cut off. */
export function discardRest(raw: IncomingMessage): void {
  if (raw.complete || raw.destroyed) return
  const cut = setTimeout(() => raw.destroy(), LINGER)
  cut.unref()
  const stop = () => clearTimeout(cut)
  raw.once('end', stop).once('close', stop).resume()
}
