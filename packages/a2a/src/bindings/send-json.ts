import { createJsonStream, encodePieces, isShort } from '@svc/registry/kit'
import type { OpenReplies } from '@svc/registry/sse'
import type { FastifyReply } from 'fastify'

/** Values up to this many characters of JSON are sent in one piece. */
const MAX_WHOLE = 131_072

/** Answers with a value, between two texts. A large value is encoded as fast as the client reads it. */
export function sendJson(streams: OpenReplies, reply: FastifyReply, value: unknown, before = '', after = '') {
  reply.serializer(identity)
  if (isShort(value, MAX_WHOLE)) return reply.send(before + JSON.stringify(value) + after)
  // Kept open until the client has read it, or the app closes.
  streams.add(reply.raw)
  return reply.send(createJsonStream(between(before, value, after)))
}

function* between(before: string, value: unknown, after: string): Generator<string, void> {
  yield before
  yield* encodePieces(value)
  yield after
}

const identity = (text: unknown) => text as string
