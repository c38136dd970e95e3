import { createSseStream, SSE_HEADERS } from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Surface } from '../surface.ts'
import type { ResponseParameters } from '../wire/response-object.ts'
import { ResponseBuilder } from './response-builder.ts'
import { ResponseStream } from './response-stream.ts'
import { viewIn } from './run-items.ts'

/** A response to stream. */
export interface StreamedResponse {
  readonly runId: string
  readonly id: string
  /** Those of the request that is answered, if it is. */
  readonly parameters?: ResponseParameters
  /** The number of the last event that the client has. */
  readonly startingAfter?: number | undefined
}

/** Replies with the events of a response. */
export function sendResponseStream(
  surface: Surface,
  { runId, id, parameters, startingAfter }: StreamedResponse,
  request: FastifyRequest,
  reply: FastifyReply
): FastifyReply {
  const { runs, heartbeat } = surface
  const asked = parameters && { id, parameters }
  const builder = new ResponseBuilder(viewIn(surface, request), asked)
  const projection = new ResponseStream(builder, id, startingAfter)
  return reply.headers(SSE_HEADERS).send(createSseStream(runs, runId, { heartbeat, projection }))
}
