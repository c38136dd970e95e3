import { PacketType } from 'socket.io-parser'

/** The part of an encoded packet before its payload. */
export interface PacketHeader {
  readonly type: PacketType
  readonly namespace: string
}

// By number.
const TYPES = [
  PacketType.CONNECT,
  PacketType.DISCONNECT,
  PacketType.EVENT,
  PacketType.ACK,
  PacketType.CONNECT_ERROR,
  PacketType.BINARY_EVENT,
  PacketType.BINARY_ACK
]
// Stricter than the decoder, which reads a space as 0 and accepts `1e0` attachments.
const HEADER = /^(?:([0-4])|([56])\d{1,2}-)(\/[^,]*)?/

/**
 * Reads the header of a packet; undefined if the text is not a packet.
 * @see https://socket.io/docs/v4/socket-io-protocol/#packet-encoding
 */
export function readHeader(text: string): PacketHeader | undefined {
  const found = HEADER.exec(text)
  if (found === null) return undefined
  const [, plain, binary, namespace = '/'] = found
  return { type: TYPES[Number(plain ?? binary)]!, namespace }
}

/** Whether binary attachments follow the packet. */
export function hasAttachments({ type }: PacketHeader): boolean {
  return type === PacketType.BINARY_EVENT || type === PacketType.BINARY_ACK
}
