import { ANSWER } from './variants.ts'

/** A runnable written by hand, which costs nothing of its own: what is measured is the server around it. */
export const quick = {
  kind: 'agent' as const,
  name: 'quick',
  async *stream() {
    yield { type: 'text' as const, text: ANSWER }
  }
}
