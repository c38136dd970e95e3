import type { JsonPieces, RunSummary } from '@svc/registry'
import { createJsonStream, encodePieces, isShort, toRunRecord } from '@svc/registry/kit'
import type { OpenReplies } from '@svc/registry/sse'
import type { FastifyReply } from 'fastify'
import type { Surface } from '../surface.ts'

/** Characters of JSON that are sent in one piece. */
const MAX_WHOLE = 131_072

const JSON_TYPE = 'application/json; charset=utf-8'

/** Replies with a value of unknown size; a large one is encoded as fast as the client reads. */
export function sendJson(replies: OpenReplies, reply: FastifyReply, value: unknown) {
  if (isShort(value, MAX_WHOLE)) return sendWhole(reply, JSON.stringify(value))
  return sendPieces(replies, reply, encodePieces(value))
}

/** Replies with encoded JSON. */
export function sendWhole(reply: FastifyReply, json: string) {
  return reply.type(JSON_TYPE).send(json)
}

/** Replies with JSON from its pieces. */
export async function sendPieces(replies: OpenReplies, reply: FastifyReply, pieces: JsonPieces) {
  const rest = iterate(pieces)
  let text = ''
  while (text.length <= MAX_WHOLE) {
    const next = await rest.next()
    if (next.done === true) return sendWhole(reply, text)
    text += next.value
  }
  // Open until the client has read it or the app closes.
  replies.add(reply.raw)
  return reply.type(JSON_TYPE).send(createJsonStream(prepend(text, rest)))
}

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

async function* iterate(pieces: JsonPieces): AsyncGenerator<string, void> {
  yield* pieces
}

async function* prepend(text: string, rest: AsyncIterable<string>): AsyncGenerator<string, void> {
  yield text
  yield* rest
}
