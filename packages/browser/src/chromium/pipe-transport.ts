import type { Socket } from 'node:net'
import type { ConnectOverCDPTransport } from 'playwright-core'

/** CDP over the pipes of `--remote-debugging-pipe`: JSON texts that end with a zero byte. */
export class PipeTransport implements ConnectOverCDPTransport {
  onmessage?: (message: object) => unknown
  onclose?: (reason?: string) => void
  readonly #input: Socket
  readonly #onCloseAsked: () => void
  readonly #output: Socket
  #rest: Buffer[] = []
  #restBytes = 0
  #isEnded = false
  #isBroken = false

  /** `onCloseAsked` is called when the client closes the connection. */
  constructor(input: Socket, output: Socket, onCloseAsked: () => void) {
    this.#input = input
    this.#output = output
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
    this.#drop()
    this.onclose?.()
  }

  #read(chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(0); end >= 0 && !this.#isBroken; end = chunk.indexOf(0, start)) {
      const text = Buffer.concat([...this.#rest, chunk.subarray(start, end)]).toString()
      this.#drop()
      start = end + 1
      this.#deliver(text)
    }
    if (this.#isBroken || start === chunk.length) return
    this.#rest.push(chunk.subarray(start))
    this.#restBytes += chunk.length - start
    if (this.#restBytes > MAX_MESSAGE) this.#break()
  }

  #drop(): void {
    this.#rest = []
    this.#restBytes = 0
  }

  #deliver(text: string): void {
    const message = parse(text)
    if (message === undefined) return this.#break()
    // Each in a turn of its own, so that code that awaits one runs before the next.
    setImmediate(() => void this.#hand(message))
  }

  async #hand(message: object): Promise<void> {
    if (this.#isEnded || this.#isBroken) return
    try {
      await this.onmessage?.(message)
    } catch {
      // Playwright rejects answers that Chromium does not give; unhandled, that would end this process.
      this.#break()
    }
  }

  // A program that says anything else is no Chromium, and may never stop.
  #break(): void {
    if (this.#isBroken) return
    this.#isBroken = true
    this.#drop()
    this.#output.destroy()
    this.close()
  }
}

// Bytes of one message; those with images have some millions.
const MAX_MESSAGE = 256_000_000

/** A message of CDP; undefined for anything else. */
function parse(text: string): object | undefined {
  try {
    const message: unknown = JSON.parse(text)
    const isMessage =
      typeof message === 'object' && message !== null && ('id' in message || 'method' in message)
    return isMessage ? message : undefined
  } catch {
    return undefined
  }
}
