import type { Stream } from 'node:stream'

const MAX_BYTES = 2_048

// By client: the SDK has no place for it.
const stderrTails = new WeakMap<object, () => string>()

/** Drains the stderr of a client's server program, and keeps the last 2 KiB. */
export function keepStderrTail(client: object, stderr: Stream | null): void {
  let kept = Buffer.alloc(0)
  stderr?.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]).subarray(-MAX_BYTES)
  })
  stderrTails.set(client, () => kept.toString().trim())
}

/** The end of a server program's stderr as the `cause` of an error; empty if there is none. */
export function stderrTailOf(client: object): { cause?: Error } {
  const text = stderrTails.get(client)?.() ?? ''
  return text === '' ? {} : { cause: new Error(`the end of the server's stderr: ${text}`) }
}
