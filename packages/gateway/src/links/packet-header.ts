import { PacketType } from 'socket.io-parser'

/** What stands before the payload of an encoded packet. */
export interface PacketHeader {
  readonly type: PacketType
  readonly namespace: string
}

// In the order of their numbers.
const TYPES = [
  PacketType.CONNECT,
  PacketType.DISCONNECT,
  PacketType.EVENT,
  PacketType.ACK,
  PacketType.CONNECT_ERROR,
  PacketType.BINARY_EVENT,
  PacketType.BINARY_ACK
]
// Stricter than the decoder, which takes a space for a 0 and `1e0` for a number of attachments.
const HEADER = /^(?:([0-4])|([56])\d{1,2}-)(\/[^,]*)?/

/**
 * Reads the header of a packet; undefined where a text is none.
 * @see https://socket.io/docs/v4/socket-io-protocol/#packet-encoding
 */
export function readHeader(text: string): PacketHeader | undefined {
  const found = HEADER.exec(text)
  if (found === null) return undefined
  const [, plain, binary, namespace = '/'] = found
  return { type: TYPES[Number(plain ?? binary)]!, namespace }
}

/** Whether attachments, as binary messages, follow a packet. */
export function hasAttachments({ type }: PacketHeader): boolean {
  return type === PacketType.BINARY_EVENT || type === PacketType.BINARY_ACK
}
