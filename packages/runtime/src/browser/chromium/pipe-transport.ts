import type { Socket } from 'node:net'
import type { ConnectOverCDPTransport } from 'playwright-core'

/** CDP over the pipes of `--remote-debugging-pipe`: JSON texts that end with a zero byte. */
export class PipeTransport implements ConnectOverCDPTransport {
  onmessage?: (message: object) => void
  onclose?: (reason?: string) => void
  readonly #input: Socket
  readonly #onCloseAsked: () => void
  #rest: Buffer[] = []
  #isEnded = false

  /** `onCloseAsked` is called when the client closes the connection. */
  constructor(input: Socket, output: Socket, onCloseAsked: () => void) {
    this.#input = input
    this.#onCloseAsked = onCloseAsked
    output.on('data', (chunk: Buffer) => this.#read(chunk))
    // A broken pipe is followed by the exit of the process, which is what counts.
    for (const stream of [input, output]) stream.on('error', () => undefined)
  }

  send(message: object): void {
    if (!this.#isEnded) this.#input.write(`${JSON.stringify(message)}\0`)
  }

  close(): void {
    this.#onCloseAsked()
  }

  /** The process has ended. */
  end(): void {
    this.#isEnded = true
    this.#rest = []
    this.onclose?.()
  }

  #read(chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, start)) {
      const text = Buffer.concat([...this.#rest, chunk.subarray(start, end)]).toString()
      this.#rest = []
      start = end + 1
      this.#deliver(text)
    }
    if (start < chunk.length) this.#rest.push(chunk.subarray(start))
  }

  // Each in a turn of its own, so that code that awaits one runs before the next.
  #deliver(text: string): void {
    setImmediate(() => {
      if (this.#isEnded) return
      const message = parse(text)
      // A program that says anything else is no Chromium.
      if (message === undefined) this.close()
      else this.onmessage?.(message)
    })
  }
}

function parse(text: string): object | undefined {
  try {
    return JSON.parse(text) as object
  } catch {
    return undefined
  }
}
