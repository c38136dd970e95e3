import type { CardVerifier } from '../../signatures/card-verifier.ts'
import { findInterfaces } from '../../wire/find-interfaces.ts'
import { fields, type Fields } from '../../wire/read-answer.ts'
import type { ProtocolVersion } from '../../wire/versions.ts'
import { badCard, noCard, refusal, statusFault } from './remote-fault.ts'
import type { RemoteTransport } from './transport.ts'

/** The endpoint of a service, and how to speak to it. */
export interface Endpoint {
  url: string
  version: ProtocolVersion
  transport: RemoteTransport
  streaming: boolean
  /** The tenant that every request has to name. */
  tenant?: string
}

/** Where a card was found, and how long it counts. */
export interface KeptCard {
  readonly url: string
  readonly freshness: Freshness
}

/** An answer; its text is empty unless it is ok. */
export interface Fetched {
  ok: boolean
  status: number
  text: string
  freshness: Freshness
}

/** How to read a card. */
export interface CardReading {
  /** Where its URLs begin. */
  readonly base: string
  readonly transports: readonly RemoteTransport[]
  /** Returns what a signature of the card covers. */
  readonly verify: CardVerifier | undefined
}

const CARDS = ['.well-known/agent-card.json', '.well-known/agent.json']

/**
 * Finds the card of a service, below the URL or at the root of its host, and takes the first endpoint that one of the transports
 * can speak to.
 * @throws A2A_ERR_REMOTE, A2A_ERR_BAD_ANSWER, A2A_ERR_BAD_CARD
 */
export async function findEndpoint(
  reading: CardReading,
  get: (url: string) => Promise<Fetched>
): Promise<Endpoint & { card: KeptCard }> {
  const cards = cardUrls(reading.base)
  for (const url of cards) {
    const { ok, status, text, freshness } = await get(url)
    if (ok) return { ...(await readEndpoint(text, reading)), card: { url, freshness } }
    if (status !== 404) throw statusFault('its card', status, url)
  }
  throw noCard([...cards][0]!)
}

/** @throws A2A_ERR_REMOTE, A2A_ERR_BAD_ANSWER, A2A_ERR_BAD_CARD */
export async function readEndpoint(
  text: string,
  { base, transports, verify }: CardReading
): Promise<Endpoint> {
  const given = parseCard(text)
  // Nothing else of the card counts.
  const signed = verify === undefined ? given : await verify(given)
  return readCard(signed, new URL(base), transports)
}

function cardUrls(url: string): Set<string> {
  const { origin, pathname } = new URL(url)
  if (pathname.endsWith('.json')) return new Set([url])
  const base = origin + (pathname.endsWith('/') ? pathname : `${pathname}/`)
  return new Set([base, `${origin}/`].flatMap((each) => CARDS.map((card) => each + card)))
}

function readCard(card: Fields, base: URL, transports: readonly RemoteTransport[]): Endpoint {
  const streaming = fields(card['capabilities'] ?? {})['streaming'] === true
  let refused: Error | undefined
  for (const { url, binding, version, tenant } of findInterfaces(card)) {
    const transport = transports.find((each) => each.binding === binding)
    const target = transport && typeof url === 'string' ? locate(url, base, transport) : null
    if (!transport || target === null) continue
    refused ??= refuse(target, base, transport)
    if (refuse(target, base, transport) === undefined)
      return { url: target.href, version, transport, streaming, ...(tenant !== undefined && { tenant }) }
  }
  const missing = transports.map(({ binding }) => `no ${binding.replace('JSONRPC', 'JSON-RPC')} endpoint`)
  throw refused ?? badCard(`names ${missing.join(' and ')}`)
}

function locate(url: string, base: URL, transport: RemoteTransport): URL | null {
  return transport.locate === undefined ? URL.parse(url, base.href) : transport.locate(url, base)
}

// A card must not send the credentials of its service to another host.
function refuse(target: URL, base: URL, { hasOwnPort = false }: RemoteTransport): Error | undefined {
  if (hasOwnPort ? target.hostname !== base.hostname : target.origin !== base.origin)
    return refusal('its card names an endpoint on another host; give that as url, with its version')
  // Requests cannot carry them, and the log of a refused one would show them.
  if (target.username !== '' || target.password !== '')
    return badCard('names an endpoint with a user or a password')
  return undefined
}

function parseCard(text: string): Fields {
  try {
    return fields(JSON.parse(text))
  } catch {
    throw badCard('is not a JSON object')
  }
}

/** How long an answer may be used, and how to ask then whether it has changed. RFC 9111, sections 4.2 and 4.3. */
export interface Freshness {
  /** Milliseconds; infinite if the service does not say. */
  readonly lifetime: number
  /** Milliseconds since the epoch. */
  readonly until: number
  /** The conditional headers of the next request. */
  readonly validators: Readonly<Record<string, string>>
}

/** Reads the headers of an answer; what they do not say is as it was `before`. */
export function readFreshness(headers: Headers, before?: Freshness): Freshness {
  const lifetime = lifetimeOf(headers) ?? before?.lifetime ?? Number.POSITIVE_INFINITY
  const etag = headers.get('etag')
  const modified = headers.get('last-modified')
  const validators = {
    ...(etag !== null && { 'if-none-match': etag }),
    ...(modified !== null && { 'if-modified-since': modified })
  }
  return {
    lifetime,
    until: Date.now() + lifetime,
    validators: etag === null && modified === null ? (before?.validators ?? {}) : validators
  }
}

/** The same, for some time longer. @param time milliseconds */
export function extend(freshness: Freshness, time: number): Freshness {
  return { ...freshness, until: Date.now() + time }
}

function lifetimeOf(headers: Headers): number | undefined {
  const directives = (headers.get('cache-control') ?? '').toLowerCase().split(',')
  const find = (name: RegExp) =>
    directives.map((each) => name.exec(each.trim())).find((match) => match !== null)
  if (find(/^no-(?:store|cache)(?:=|$)/) !== undefined) return 0
  const age = Number(headers.get('age') ?? 0) || 0
  const seconds = find(/^max-age="?(\d{1,10})"?$/)?.[1]
  if (seconds !== undefined) return Math.max(0, Number(seconds) - age) * 1_000
  const expires = headers.get('expires')
  if (expires === null) return undefined
  // A date that is invalid, such as 0, is in the past.
  const left = Date.parse(expires) - (Date.parse(headers.get('date') ?? '') || Date.now())
  return left > 0 ? left : 0
}
