import { openEventStream, sendJson, tieToClient } from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Surface } from '../surface.ts'
import type { ResponseParameters } from '../wire/response-object.ts'
import { followResponse } from './read-responses.ts'
import { ResponseBuilder } from './response-builder.ts'
import { findPlace } from './response-place.ts'
import {
  functionsOf,
  type CreateRequest,
  type FunctionTool,
  type ResponseBody,
  type TextFormat
} from './response-schemas.ts'
import { ResponseStream } from './response-stream.ts'
import { viewIn } from './run-items.ts'
import { toResponseId } from './start-run.ts'

/** Parameters that a response repeats as they are. */
const REPEATED = [
  'background',
  'frequency_penalty',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'parallel_tool_calls',
  'presence_penalty',
  'previous_response_id',
  'prompt_cache_key',
  'safety_identifier',
  'service_tier',
  'store',
  'temperature',
  'tool_choice',
  'top_logprobs',
  'top_p',
  'truncation',
  'user'
] as const satisfies (keyof ResponseBody)[]

/** What the response to a request repeats of it. */
export function toParameters(body: ResponseBody): ResponseParameters {
  const parameters: Record<string, unknown> = {}
  for (const name of REPEATED)
    if (body[name] !== undefined && body[name] !== null) parameters[name] = body[name]
  const { text, reasoning } = body
  const tools = functionsOf(body)
  if (tools) parameters['tools'] = tools.map(toTool)
  if (text) parameters['text'] = { ...text, format: toFormat(text.format) }
  if (reasoning) parameters['reasoning'] = { effort: null, summary: null, ...reasoning }
  return parameters
}

function toTool({ type, name, description = null, parameters = null, strict = null }: FunctionTool): object {
  return { type, name, description, parameters, strict }
}

function toFormat(format: TextFormat | null | undefined): object {
  if (format?.type !== 'json_schema') return { type: format?.type ?? 'text' }
  const { type, name = 'answer', description = null, schema = null, strict } = format
  return { type, name, description, schema, strict: strict ?? false }
}

/** A response to stream. */
export interface StreamedResponse {
  readonly runId: string
  readonly id: string
  /** Those of the request that is answered, if it is. */
  readonly parameters?: ResponseParameters
  /** The number of the last event that the client has. */
  readonly startingAfter?: number | undefined
}

/** Opens the events of a response for a reply. */
export function openResponseStream(
  surface: Surface,
  { runId, id, parameters, startingAfter }: StreamedResponse,
  request: FastifyRequest,
  reply: FastifyReply
): ReadableStream<string> {
  const asked = parameters && { id, parameters }
  const builder = new ResponseBuilder(viewIn(surface, request), asked)
  const projection = new ResponseStream(builder, id, { startingAfter })
  return openEventStream(surface, reply, runId, projection)
}

/**
 * Creates a response: continues the run that waits for what the input answers, else starts one.
 * @throws OPENAI_ERR_* of requests, and the errors of `RunEngine.start` and `RunEngine.answer`
 */
export async function createResponse(
  surface: Surface,
  request: CreateRequest,
  reply: FastifyReply
): Promise<unknown> {
  const { body, caller, headers, log } = request
  const place = await findPlace(surface, {
    body,
    caller,
    headers,
    log,
    follow: (run, onDisconnect) => tieToClient(surface.replies, reply, run, onDisconnect)
  })
  const { stream, background } = body
  const { runId } = place
  const asked = { id: toResponseId(place), parameters: toParameters(body) }
  void reply.header('x-run-id', runId)
  if (stream) return openResponseStream(surface, { runId, ...asked }, request, reply)
  const until = background ? 'begun' : 'over'
  const response = await followResponse(surface, runId, asked, viewIn(surface, request), until)
  return sendJson(surface.replies, reply, response)
}
