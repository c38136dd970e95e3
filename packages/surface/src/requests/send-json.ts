import type { FastifyReply } from 'fastify'
import type { OpenReplies } from '../sse/open-replies.ts'
import { createJsonStream, encodePieces, isShort, type JsonPieces } from '@svc/contract'

/** Characters of JSON that are sent in one piece. */
const MAX_WHOLE = 131_072
const JSON_TYPE = 'application/json; charset=utf-8'

/** Replies with a value of unknown size, between two texts; a large one is encoded as fast as the client reads. */
export function sendJson(
  replies: OpenReplies,
  reply: FastifyReply,
  value: unknown,
  before = '',
  after = ''
): FastifyReply {
  if (isShort(value, MAX_WHOLE)) return sendWhole(reply, before + JSON.stringify(value) + after)
  return sendStream(replies, reply, between(before, value, after))
}

/** Replies with encoded JSON, of the type that the reply has; default `application/json`. */
export function sendWhole(reply: FastifyReply, json: string): FastifyReply {
  return typed(reply).send(json)
}

/** Replies with JSON from its pieces: in one if it is short, else as fast as the client reads. */
export async function sendPieces(
  replies: OpenReplies,
  reply: FastifyReply,
  pieces: JsonPieces
): Promise<FastifyReply> {
  const rest = iterate(pieces)
  let text = ''
  while (text.length <= MAX_WHOLE) {
    const next = await rest.next()
    if (next.done === true) return sendWhole(reply, text)
    text += next.value
  }
  return sendStream(replies, reply, prepend(text, rest))
}

function sendStream(replies: OpenReplies, reply: FastifyReply, pieces: JsonPieces): FastifyReply {
  // Open until the client has read it or the app closes.
  replies.add(reply.raw)
  return typed(reply).send(createJsonStream(pieces))
}

// What is encoded already must not be encoded again.
function typed(reply: FastifyReply): FastifyReply {
  if (!reply.hasHeader('content-type')) reply.type(JSON_TYPE)
  return reply.serializer(identity)
}

const identity = (text: unknown) => text as string

function* between(before: string, value: unknown, after: string): Generator<string, void> {
  yield before
  yield* encodePieces(value)
  yield after
}

async function* iterate(pieces: JsonPieces): AsyncGenerator<string, void> {
  yield* pieces
}

async function* prepend(text: string, rest: AsyncIterable<string>): AsyncGenerator<string, void> {
  yield text
  yield* rest
}
