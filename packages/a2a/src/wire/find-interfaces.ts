import { fields, list, text, type Fields } from './read-answer.ts'
import { findVersion, PROTOCOL_VERSIONS, type ProtocolVersion } from './versions.ts'

/** An endpoint that a card names, in a version that is known here. */
export interface CardInterface {
  readonly url: unknown
  readonly binding: unknown
  readonly version: ProtocolVersion
  /** The tenant that every request has to name. */
  readonly tenant?: string
}

/**
 * The interfaces of a card of any version, in its order of preference. A list of 1.0 precedes what the card has for older clients.
 * @see https://a2a-protocol.org/v1.0.0/specification/#832-client-protocol-selection
 * @throws A2A_ERR_BAD_ANSWER
 */
export function findInterfaces(card: Fields): CardInterface[] {
  const listed = list(card['supportedInterfaces']).map(fields).flatMap(toInterface)
  return [...listed, ...legacyInterfacesOf(card)]
}

function toInterface({ url, protocolBinding, protocolVersion, tenant }: Fields): CardInterface[] {
  const version =
    typeof protocolVersion === 'string' ? findVersion(protocolVersion, PROTOCOL_VERSIONS) : undefined
  if (version === undefined) return []
  const named = text(tenant)
  return [{ url, binding: protocolBinding, version, ...(named !== '' && { tenant: named }) }]
}

/** @see https://a2a-protocol.org/v0.3.0/specification/#563-client-transport-selection-rules */
function legacyInterfacesOf({ url, preferredTransport, additionalInterfaces }: Fields): CardInterface[] {
  const version = '0.3'
  const more = list(additionalInterfaces).map((each) => {
    const { url: another, transport } = fields(each)
    return { url: another, binding: transport, version } as const
  })
  if (url === undefined || url === null) return more
  return [{ url, binding: preferredTransport ?? 'JSONRPC', version }, ...more]
}
