import { Readable } from 'node:stream'
import { nextTurn } from '../next-turn.ts'
import type { JsonPieces } from './encode-pieces.ts'

/** Pieces of JSON as bytes, one a turn of the event loop and no faster than they are read. */
export function createJsonStream(pieces: JsonPieces): Readable {
  return Readable.from(oneATurn(pieces), { objectMode: false })
}

async function* oneATurn(pieces: JsonPieces): AsyncGenerator<string, void> {
  for await (const piece of pieces) {
    yield piece
    await nextTurn()
  }
}
