import type { Stream } from 'node:stream'

const MOST_BYTES = 2_048

const stderrTails = new WeakMap<object, () => string>()

/** Reads what the program behind a client writes to stderr, to its end, and keeps the last 2 KiB. */
export function keepStderrTail(client: object, stderr: Stream | null): void {
  let kept = Buffer.alloc(0)
  stderr?.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]).subarray(-MOST_BYTES)
  })
  stderrTails.set(client, () => kept.toString().trim())
}

/** What the program behind a client wrote last, as the `cause` of an error; nothing where there is no such text. */
export function stderrTailOf(client: object): { cause?: Error } {
  const text = stderrTails.get(client)?.() ?? ''
  return text === '' ? {} : { cause: new Error(`the server wrote last: ${text}`) }
}
