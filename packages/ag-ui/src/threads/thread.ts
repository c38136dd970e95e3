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
import type { RunEvents } from '../projection/run-events.ts'
import { RunStream, type StreamStart } from '../projection/run-stream.ts'
import { THREADS } from './thread-schemas.ts'

/** A thread as a request names it: a session of a runnable. */
export type Thread = SessionReference

/** Makes the URLs of files of a thread, at this service as the client reaches it, or elsewhere. */
export function fileUrlIn(surface: WireSurface, thread: Thread, request: AddressedRequest): FileUrl {
  return conversationFiles(THREADS, surface, thread, request)
}

/** Replies with the stream of a run, from the part on that `events` have read. */
export function sendStream(
  { runs, heartbeat }: WireSurface,
  reply: FastifyReply,
  runId: string,
  events: RunEvents,
  start: StreamStart = {}
): FastifyReply {
  const projection = new RunStream(events, start)
  return reply
    .headers(SSE_HEADERS)
    .header('x-run-id', runId)
    .send(createSseStream(runs, runId, { after: events.seq, heartbeat, projection }))
}
