import { RUN_ERR_LOG_GONE } from '@svc/contract/errors'
import {
  answerInputs,
  conversationFiles,
  encodeEvents,
  readPresent,
  requireRunOf,
  openEventStream,
  tieToClient,
  wantsPartial,
  type AddressedRequest,
  type SessionReference,
  type StreamStart
} from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { UI_ERR_NOTHING_ANSWERED, UI_ERR_RUN_ENDED } from '../errors.ts'
import { readAnswers } from '../messages/read-answers.ts'
import { ChatStream } from '../projection/chat-stream.ts'
import { MessageChunks, type ChatView } from '../projection/message-chunks.ts'
import type { Surface } from '../surface.ts'
import { UI_STREAM_HEADER } from '../wire/chunks.ts'
import type { UiMessage } from '../wire/messages.ts'
import { CHATS } from './chat-schemas.ts'

/** A chat as a request names it: a session of a runnable. */
export type Chat = SessionReference

/** How the messages of a chat show their runs: URLs of files are those of this service as the client reaches it, or others. */
export function viewIn(surface: Surface, chat: Chat, request: AddressedRequest): ChatView {
  const { steeringMessages } = surface
  return { fileUrl: conversationFiles(CHATS, surface, chat, request), steeringMessages }
}

/** Opens the stream of a run for a reply. */
export function openStream(
  surface: Surface,
  reply: FastifyReply,
  runId: string,
  chunks: MessageChunks,
  start?: StreamStart
): ReadableStream<string> {
  reply.headers(UI_STREAM_HEADER)
  return openEventStream(surface, reply, runId, new ChatStream(chunks, start), wantsPartial(reply.request))
}

/**
 * Continues the run of the last message, which is the assistant's: answers what the run waits for with the parts of the message, and
 * streams what follows. Inputs that were answered before, here or on another surface, are passed over.
 * @throws RUN_ERR_NOT_FOUND, RUN_ERR_LOG_GONE, UI_ERR_NOTHING_ANSWERED, UI_ERR_RUN_ENDED, RUN_ERR_BAD_INPUT, RUN_ERR_STORE
 */
export async function continueRun(
  surface: Surface,
  chat: Chat,
  message: UiMessage,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<ReadableStream<string>> {
  const { caller: principal } = request
  const run = await requireRunOf(surface, chat, message.id, principal)
  const { runId } = run
  const view = viewIn(surface, chat, request)
  let chunks = await readSoFar(surface, runId, new MessageChunks(view))
  const present = chunks.run.seq
  if (present === 0) throw new RUN_ERR_LOG_GONE()
  const answers = readAnswers(message, chunks)
  if (answers.length === 0 && chunks.run.isWaiting) throw new UI_ERR_NOTHING_ANSWERED()
  const seen = seenOf(message, runId, present)
  if (chunks.run.end !== undefined && seen === present) throw new UI_ERR_RUN_ENDED()
  await answerInputs(surface, principal, answers)
  if (seen < present) chunks = await readSoFar(surface, runId, new MessageChunks(view), seen)
  tieToClient(surface.replies, reply)
  return openStream(surface, reply, runId, chunks, {
    after: seen,
    head: encodeEvents(chunks.resume()),
    answered: answers.map(({ inputId }) => inputId)
  })
}

async function readSoFar(
  { runs }: Surface,
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
