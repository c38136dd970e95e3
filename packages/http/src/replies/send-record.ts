import type { JsonPieces, RunSummary } from '@svc/contract'
import { sendPieces, toRunRecord } from '@svc/surface'
import type { FastifyReply } from 'fastify'
import type { Surface } from '../surface.ts'

/** Replies with the record of a run, and its result if it has one. */
export function sendRecord(
  { runs, replies }: Pick<Surface, 'runs' | 'replies'>,
  reply: FastifyReply,
  run: RunSummary
) {
  const result = runs.stores.runs.readResult(run.runId)
  return sendPieces(replies, reply, withMember(toRunRecord(run), 'result', result))
}

/** Encodes an object with one more property from `pieces`, unless these are empty. */
export async function* withMember(
  object: object,
  name: string,
  pieces: JsonPieces
): AsyncGenerator<string, void> {
  yield JSON.stringify(object).slice(0, -1)
  let before = `,${JSON.stringify(name)}:`
  for await (const piece of pieces) {
    yield before + piece
    before = ''
  }
  yield '}'
}
