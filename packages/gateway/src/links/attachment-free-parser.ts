import { Decoder, Encoder, type Packet } from 'socket.io-parser'
import { announcesAudio } from './audio-packet.ts'
import { hasAttachments, readHeader } from './packet-header.ts'

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
