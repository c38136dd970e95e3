import { unlessLate } from '@svc/contract'
import { A2A_ERR_BAD_ANSWER } from '../../errors.ts'

/** An answer stalls before its end. */
class StalledError extends Error {
  constructor(ms: number) {
    super(`Nothing came for ${ms} ms`)
  }
}

/**
 * The chunks of an answer. Each has to arrive within `idleTimeout` milliseconds of being asked for.
 * @throws StalledError, and what the network throws
 */
export async function* readBody({ body }: Response, idleTimeout: number): AsyncGenerator<Uint8Array, void> {
  if (body === null) return
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await unlessLate(
        idleTimeout,
        () => new StalledError(idleTimeout),
        reader.read()
      )
      if (done) return
      yield value
    }
  } finally {
    // A reader that stops early needs no more of it.
    await reader.cancel().catch(() => {})
  }
}

/** The text of an answer, of at most `maxBytes`. @throws A2A_ERR_BAD_ANSWER, and what the chunks throw */
export async function readText(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw new A2A_ERR_BAD_ANSWER(`it is too large, over ${maxBytes} bytes`)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
