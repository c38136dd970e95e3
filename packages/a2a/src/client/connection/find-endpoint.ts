import { A2A_ERR_BAD_ANSWER, A2A_ERR_REMOTE } from '../../errors.ts'
import { CLIENT_CODECS } from '../../wire/codec-for.ts'
import type { ClientCodec } from '../../wire/codec.ts'
import { fields, type Fields } from '../../wire/read-answer.ts'
import { noCard, statusFault } from './remote-fault.ts'

/** The endpoint of a service, and the codec of its version. */
export interface Endpoint {
  url: string
  codec: ClientCodec
  streaming: boolean
  /** The tenant that every request has to name. */
  tenant?: string
}

/** An answer; its text is empty unless it is ok. */
export interface Fetched {
  ok: boolean
  status: number
  text: string
}

const CARDS = ['.well-known/agent-card.json', '.well-known/agent.json']

/**
 * Reads the card of a service, below the URL or at the root of its host.
 * @throws A2A_ERR_REMOTE, A2A_ERR_BAD_ANSWER
 */
export async function findEndpoint(url: string, get: (url: string) => Promise<Fetched>): Promise<Endpoint> {
  const cards = cardUrls(url)
  for (const card of cards) {
    const { ok, status, text } = await get(card)
    if (ok) return readCard(parseCard(text), new URL(url))
    if (status !== 404) throw statusFault('its card', status, card)
  }
  throw noCard([...cards][0]!)
}

function cardUrls(url: string): Set<string> {
  const { origin, pathname } = new URL(url)
  if (pathname.endsWith('.json')) return new Set([url])
  const base = origin + (pathname.endsWith('/') ? pathname : `${pathname}/`)
  return new Set([base, `${origin}/`].flatMap((each) => CARDS.map((card) => each + card)))
}

function readCard(card: Fields, base: URL): Endpoint {
  const streaming = fields(card['capabilities'] ?? {})['streaming'] === true
  for (const codec of CLIENT_CODECS) {
    const found = codec.findEndpoint(card)
    if (found !== undefined) return { ...found, url: requireUrl(found.url, base), codec, streaming }
  }
  throw noEndpoint()
}

// A card must not send the credentials of its service to another host.
function requireUrl(url: unknown, base: URL): string {
  const target = typeof url === 'string' ? URL.parse(url, base.href) : null
  if (target === null) throw noEndpoint()
  if (target.origin !== base.origin)
    throw new A2A_ERR_REMOTE('its card names an endpoint on another host; give that as url, with its version')
  // Requests cannot carry them, and the log of a refused one would show them.
  if (target.username !== '' || target.password !== '')
    throw new A2A_ERR_BAD_ANSWER('its card names an endpoint with a user or a password')
  return target.href
}

function noEndpoint(): Error {
  return new A2A_ERR_BAD_ANSWER('its card names no JSON-RPC endpoint')
}

function parseCard(text: string): Fields {
  try {
    return fields(JSON.parse(text))
  } catch {
    throw new A2A_ERR_BAD_ANSWER('its card is not a JSON object')
  }
}
