import type { Server } from 'socket.io'
import { Decoder, Encoder, PacketType, type Packet } from 'socket.io-parser'

/** Characters; more than any announcement has. */
const MAX_LENGTH = 256
/** As the official client writes it. */
const USUAL = '["voice.audio",{"_placeholder":true,"num":0}]'

/**
 * True if a packet announces audio of a call: the event `voice.audio` with a single attachment as its payload. Only this event may have
 * attachments.
 */
export function announcesAudio(text: string): boolean {
  if (!text.startsWith('51-') || text.length > MAX_LENGTH) return false
  const payload = text.slice(text.indexOf('['))
  return payload === USUAL || isAnnouncement(payload)
}

function isAnnouncement(json: string): boolean {
  try {
    const [event, payload, ...more] = JSON.parse(json) as [unknown, unknown]
    return event === 'voice.audio' && isFirstAttachment(payload) && more.length === 0
  } catch {
    return false
  }
}

function isFirstAttachment(payload: unknown): boolean {
  const { _placeholder: isPlaceholder, num } = (payload ?? {}) as { _placeholder?: unknown; num?: unknown }
  return isPlaceholder === true && num === 0
}

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

/** A Socket.IO parser that buffers no attachments for some namespaces, except the audio of calls. */
export interface AttachmentFreeParser {
  readonly Encoder: typeof Encoder
  readonly Decoder: typeof Decoder
  /** The namespaces whose attachments are dropped, unless they are audio. */
  readonly namespaces: Set<string>
}

/** The decoder's own maximum. */
const MAX_ATTACHMENTS = 10
const PLAIN_TYPE = { 5: '2', 6: '3' } as const
const parsers = new WeakSet<object>()
const BINARY: Uint8Array = new Uint8Array()

/** Creates the `parser` of a server. */
export function createAttachmentFreeParser(): AttachmentFreeParser {
  const namespaces = new Set<string>()

  // Decodes an event with attachments at once, with one binary value as its payload, and drops the attachments.
  class AttachmentFreeDecoder extends Decoder {
    #toDrop = 0
    #isStripped = false

    constructor() {
      super()
      // Registered first, so that other listeners see the changed packet.
      this.on('decoded', (packet: Packet) => {
        if (this.#isStripped) packet.data = [packet.data[0], BINARY]
      })
    }

    override add(message: unknown): void {
      if (this.#toDrop > 0) this.#drop(message)
      else if (typeof message === 'string' && needsStripping(message)) this.#strip(message)
      else super.add(message)
    }

    #strip(message: string): void {
      const dash = message.indexOf('-')
      const count = Number(message.slice(1, dash))
      // The decoder refuses it.
      if (count < 1 || count > MAX_ATTACHMENTS) return super.add(message)
      this.#toDrop = count
      this.#isStripped = true
      try {
        super.add(PLAIN_TYPE[message[0] as unknown as 5 | 6] + message.slice(dash + 1))
      } finally {
        this.#isStripped = false
      }
    }

    #drop(message: unknown): void {
      if (typeof message === 'string') throw new Error('expected an attachment, got text')
      this.#toDrop--
    }
  }

  const needsStripping = (message: string) => {
    const header = readHeader(message)
    if (header === undefined || !hasAttachments(header) || !namespaces.has(header.namespace)) return false
    return !announcesAudio(message)
  }
  const parser = { Encoder, Decoder: AttachmentFreeDecoder, namespaces }
  parsers.add(parser)
  return parser
}

/** Whether `createAttachmentFreeParser` made a parser. */
export function isAttachmentFree(parser: unknown): parser is AttachmentFreeParser {
  return parsers.has(parser as object)
}

/** Whether packets of a server have Socket.IO's default encoding. */
export function hasStandardEncoding(io: Server): boolean {
  const { opts = {} } = io as unknown as { opts?: { parser?: unknown } }
  return opts.parser === undefined || isAttachmentFree(opts.parser)
}
