import { RUN_ERR_LOG_GONE } from '@svc/contract/errors'
import {
  answerInputs,
  conversationFiles,
  encodeEvents,
  readPresent,
  requireRunOf,
  sendEventStream,
  tieToClient,
  type AddressedRequest,
  type FileUrl,
  type SessionReference,
  type StreamStart,
  type WireSurface
} from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { UI_ERR_NOTHING_ANSWERED, UI_ERR_RUN_ENDED } from '../errors.ts'
import { readAnswers } from '../messages/read-answers.ts'
import { ChatStream } from '../projection/chat-stream.ts'
import { MessageChunks } from '../projection/message-chunks.ts'
import { UI_STREAM_HEADER } from '../wire/chunks.ts'
import type { UiMessage } from '../wire/messages.ts'
import { CHATS } from './chat-schemas.ts'

/** A chat as a request names it: a session of a runnable. */
export type Chat = SessionReference

/** Makes the URLs of files of a chat, at this service as the client reaches it, or elsewhere. */
export function fileUrlIn(surface: WireSurface, chat: Chat, request: AddressedRequest): FileUrl {
  return conversationFiles(CHATS, surface, chat, request)
}

/** Replies with the stream of a run. */
export function sendStream(
  surface: WireSurface,
  reply: FastifyReply,
  runId: string,
  chunks: MessageChunks,
  start?: StreamStart
): FastifyReply {
  return sendEventStream(surface, reply, runId, new ChatStream(chunks, start), UI_STREAM_HEADER)
}

/**
 * Continues the run of the last message, which is the assistant's: answers what the run waits for with the parts of the message, and
 * streams what follows. Inputs that were answered before, here or on another surface, are passed over.
 * @throws RUN_ERR_NOT_FOUND, RUN_ERR_LOG_GONE, UI_ERR_NOTHING_ANSWERED, UI_ERR_RUN_ENDED, RUN_ERR_BAD_INPUT, RUN_ERR_STORE
 */
export async function continueRun(
  surface: WireSurface,
  chat: Chat,
  message: UiMessage,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { caller: principal } = request
  const run = await requireRunOf(surface, chat, message.id, principal)
  const { runId } = run
  const fileUrl = fileUrlIn(surface, chat, request)
  let chunks = await readSoFar(surface, runId, new MessageChunks(fileUrl))
  const present = chunks.run.seq
  if (present === 0) throw new RUN_ERR_LOG_GONE()
  const answers = readAnswers(message, chunks)
  if (answers.length === 0 && chunks.run.isWaiting) throw new UI_ERR_NOTHING_ANSWERED()
  const seen = seenOf(message, runId, present)
  if (chunks.run.end !== undefined && seen === present) throw new UI_ERR_RUN_ENDED()
  await answerInputs(surface, principal, answers)
  if (seen < present) chunks = await readSoFar(surface, runId, new MessageChunks(fileUrl), seen)
  tieToClient(surface.replies, reply)
  return sendStream(surface, reply, runId, chunks, {
    after: seen,
    head: encodeEvents(chunks.resume()),
    answered: answers.map(({ inputId }) => inputId)
  })
}

async function readSoFar(
  { runs }: WireSurface,
  runId: string,
  chunks: MessageChunks,
  until = Infinity
): Promise<MessageChunks> {
  for await (const { seq, part } of readPresent(runs.stores, runId)) {
    if (seq > until) break
    chunks.add(part)
  }
  return chunks
}

// The metadata says how far the client has read; it comes from the client, and concerns only what it gets itself.
function seenOf({ metadata }: UiMessage, runId: string, present: number): number {
  const { runId: of, seq } = (metadata ?? {}) as { runId?: unknown; seq?: unknown }
  const isPlace = of === runId && Number.isSafeInteger(seq) && (seq as number) > 0
  return isPlace ? Math.min(seq as number, present) : present
}
