import { Readable } from 'node:stream'
import { nextTurn } from '../next-turn.ts'
import type { JsonPieces } from './encode-pieces.ts'

/** Pieces of JSON to be sent, one a turn of the event loop and no faster than they are read. */
export function createJsonStream(pieces: JsonPieces): Readable {
  // As texts: a connection makes bytes of them outside of the heap.
  return Readable.from(oneATurn(pieces), { objectMode: true, highWaterMark: 1 })
}

async function* oneATurn(pieces: JsonPieces): AsyncGenerator<string, void> {
  for await (const piece of pieces) {
    yield piece
    await nextTurn()
  }
}
