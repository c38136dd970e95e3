import { CLOSE, type FrameSocket } from '@svc/surface/sockets'

/** Characters of frames that wait for the end of another one. */
const MAX_HELD = 1_048_576

/**
 * The frames of a socket that several responses share. An event that is too large for one chunk of its stream is sent in pieces; the frames
 * of the others wait until it is whole.
 */
export class SharedFrames {
  readonly #socket: FrameSocket
  // The stream of which a frame has been sent in part.
  #owner: object | undefined
  #held: string[] = []
  #size = 0
  #isClosed = false
  #whole = Promise.withResolvers<void>()

  constructor(socket: FrameSocket) {
    this.#socket = socket
  }

  /** True if a stream has sent a frame in part. */
  isPartial(stream: object): boolean {
    return this.#owner === stream
  }

  /** Sends an event as a frame of its own. @param streamId its `stream_id` */
  send(event: object, streamId: string | undefined): void {
    const json = JSON.stringify(event)
    const text = streamId === undefined ? json : withStreamId(streamId) + json.slice(1)
    if (this.#owner === undefined) return this.#socket.send(text)
    this.#size += text.length
    if (this.#size > MAX_HELD) return this.#socket.close(CLOSE.overloaded, 'The client reads too slowly')
    this.#held.push(text)
  }

  /** Sends the lines of a chunk, each as a frame; what follows the last one begins a frame. Resolves once the socket takes more. */
  async write(stream: object, chunk: string, streamId: string | undefined): Promise<void> {
    while (this.#owner !== undefined && this.#owner !== stream) await this.#whole.promise
    if (this.#isClosed) return
    const start = streamId === undefined ? '' : withStreamId(streamId)
    // The rest of a frame has no brace of its own.
    const toPiece = (begin: number, end: number) =>
      start === '' || this.#owner !== undefined
        ? chunk.slice(begin, end)
        : start + chunk.slice(begin + 1, end)
    let begin = 0
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', begin)) {
      this.#socket.send(toPiece(begin, end))
      if (this.#owner !== undefined) this.#release()
      begin = end + 1
    }
    if (begin < chunk.length) {
      this.#socket.send(toPiece(begin, chunk.length), false)
      this.#owner = stream
    }
    await this.#socket.untilWritable()
  }

  /** The socket has closed: nobody waits any more. */
  close(): void {
    this.#isClosed = true
    this.#release()
  }

  #release(): void {
    this.#owner = undefined
    for (const text of this.#held) this.#socket.send(text)
    this.#held = []
    this.#size = 0
    this.#whole.resolve()
    this.#whole = Promise.withResolvers<void>()
  }
}

function withStreamId(streamId: string): string {
  return `{"stream_id":${JSON.stringify(streamId)},`
}
