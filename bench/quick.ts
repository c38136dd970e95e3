// What clients and servers agree on; servers import nothing else of the bench.

/** The deltas of every model and every stream: 20 of 10 characters. */
export const CHUNKS: readonly string[] = Array.from({ length: 20 }, (_, index) =>
  `word ${index}`.padEnd(10, '.')
)
/** The text that all of them answer. */
export const ANSWER = CHUNKS.join('')
/** Milliseconds until the first delta, of servers whose variant ends with `-first`. */
export const FIRST_TOKEN = 50
/** What signs the token of the servers that ask for one. */
export const SECRET = 'a secret of the benchmark alone, 32 bytes'

/** A runnable written by hand, which costs nothing of its own: what is measured is the server around it. */
export const quick = {
  kind: 'agent' as const,
  name: 'quick',
  async *stream() {
    yield { type: 'text' as const, text: ANSWER }
  }
}
