/** A packet of Engine.IO that waits to be sent. */
export interface Packet {
  readonly type: string
  readonly data?: unknown
  readonly options?: { readonly wsPreEncodedFrame?: readonly Buffer[] }
}

/** Private members of a transport of Engine.IO. */
export interface Transport {
  readonly name: string
  writable: boolean
  /** Of a WebSocket. */
  readonly socket?: { readonly _socket?: { cork(): void; uncork(): void } | null }
  /** Whether a packet's `wsPreEncodedFrame` is sent as it is. */
  _canSendPreEncodedFrame?(packet: Packet): boolean
}

const ENCODED: Packet = { type: 'message', options: { wsPreEncodedFrame: [] } }

/** Whether frames can be sent as they are: by a WebSocket that does not compress. */
export function sendsFrames(transport: Transport): boolean {
  const { name, _canSendPreEncodedFrame: canSend } = transport
  return name === 'websocket' && canSend?.call(transport, ENCODED) === true
}

/** A whole message, of text. */
const TEXT = 0x81
/** The first character of Engine.IO's messages. */
const MESSAGE = 0x34

/**
 * Encodes messages of Engine.IO as frames of a WebSocket, in one buffer.
 * @see https://www.rfc-editor.org/rfc/rfc6455#section-5.2
 */
export function encodeFrames(texts: readonly string[]): Buffer {
  const frames = Buffer.allocUnsafe(texts.reduce((size, text) => size + sizeOfFrame(text), 0))
  let at = 0
  for (const text of texts) {
    const length = Buffer.byteLength(text) + 1
    frames[at++] = TEXT
    if (length < 126) frames[at++] = length
    else if (length < 65_536) {
      frames[at++] = 126
      at = frames.writeUInt16BE(length, at)
    } else {
      frames[at++] = 127
      at = frames.writeBigUInt64BE(BigInt(length), at)
    }
    frames[at++] = MESSAGE
    at += frames.write(text, at)
  }
  return frames
}

function sizeOfFrame(text: string): number {
  const length = Buffer.byteLength(text) + 1
  return length + (length < 126 ? 2 : length < 65_536 ? 4 : 10)
}
