import { setTimeout as sleep } from 'node:timers/promises'

/** How a text is spoken. */
export interface StreamWordsOptions {
  /** Milliseconds between two increments. */
  delay: number
  signal?: AbortSignal | undefined
}

const MAX_INCREMENTS = 400

/**
 * Speaks a text in increments that end at spaces: one word each, several where the text is long.
 * @throws the reason of the signal when it aborts
 */
export async function* streamWords(text: string, options: StreamWordsOptions): AsyncGenerator<string, void> {
  const { delay, signal } = options
  const words = text.match(/\s*\S+\s*?(?=\s|$)|\s+$/g) ?? []
  const step = Math.ceil(words.length / MAX_INCREMENTS)
  for (let at = 0; at < words.length; at += step) {
    if (delay > 0) await pause(delay, signal)
    signal?.throwIfAborted()
    yield words.slice(at, at + step).join('')
  }
}

async function pause(delay: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(delay, undefined, signal && { signal })
  } catch (err) {
    signal?.throwIfAborted()
    throw err
  }
}
