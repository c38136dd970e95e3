import {
  conversationFiles,
  createSseStream,
  SSE_HEADERS,
  type AddressedRequest,
  type FileUrl,
  type SessionReference,
  type WireSurface
} from '@svc/surface'
import type { FastifyReply } from 'fastify'
import { ChatStream, type StreamStart } from '../projection/chat-stream.ts'
import type { MessageChunks } from '../projection/message-chunks.ts'
import { UI_STREAM_HEADER } from '../wire/chunks.ts'
import { CHATS } from './chat-schemas.ts'

/** A chat as a request names it: a session of a runnable. */
export type Chat = SessionReference

/** Makes the URLs of files of a chat, at this service as the client reaches it, or elsewhere. */
export function fileUrlIn(surface: WireSurface, chat: Chat, request: AddressedRequest): FileUrl {
  return conversationFiles(CHATS, surface, chat, request)
}

/** Replies with the stream of a run. */
export function sendStream(
  { runs, heartbeat }: WireSurface,
  reply: FastifyReply,
  runId: string,
  chunks: MessageChunks,
  start: StreamStart = {}
): FastifyReply {
  const projection = new ChatStream(chunks, start)
  // What it has read already is not read again.
  const after = chunks.seq
  return reply
    .headers(SSE_HEADERS)
    .headers(UI_STREAM_HEADER)
    .header('x-run-id', runId)
    .send(createSseStream(runs, runId, { after, heartbeat, projection }))
}
