import { codeOf, isTerminalStatus, type InputAnswer, type RunSummary } from '@svc/contract'
import {
  answerInputs,
  createSseStream,
  findActiveRun,
  readPresent,
  requireAllowed,
  requireAnswer,
  requireExposed,
  sendJson,
  SSE_HEADERS,
  type GivenAnswer,
  type RunEngine
} from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNANSWERED, OPENAI_ERR_UNKNOWN_RESPONSE } from '../errors.ts'
import { readModel } from '../models/model-name.ts'
import type { Surface } from '../surface.ts'
import { parseOutput, type CallOutput, type Conversation } from '../wire/conversation.ts'
import { findWaitingRun } from '../wire/find-waiting-run.ts'
import type { ResponseParameters } from '../wire/response-object.ts'
import { resolveReferences } from './item-references.ts'
import { readInput } from './read-input.ts'
import { followResponse, requireResponseRun } from './read-responses.ts'
import { ResponseBuilder } from './response-builder.ts'
import {
  functionsOf,
  type CreateRequest,
  type FunctionTool,
  type ResponseBody,
  type TextFormat
} from './response-schemas.ts'
import { ResponseStream } from './response-stream.ts'
import { viewIn } from './run-items.ts'
import { startRun, toResponseId, type ResponsePlace } from './start-run.ts'

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
function toParameters(body: ResponseBody): ResponseParameters {
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

/**
 * Creates a response: continues the run that waits for what the input answers, else starts one.
 * @throws OPENAI_ERR_* of requests, and the errors of `RunEngine.start` and `RunEngine.answer`
 */
export async function createResponse(
  surface: Surface,
  request: CreateRequest,
  reply: FastifyReply
): Promise<unknown> {
  const place = await findPlace(surface, request, reply)
  const { stream, background } = request.body
  const { runId } = place
  const asked = { id: toResponseId(place), parameters: toParameters(request.body) }
  void reply.header('x-run-id', runId)
  if (stream) return sendResponseStream(surface, { runId, ...asked }, request, reply)
  const until = background ? 'begun' : 'over'
  const response = await followResponse(surface, runId, asked, viewIn(surface, request), until)
  return sendJson(surface.replies, reply, response)
}

/** Where the response begins that a request asks for. */
async function findPlace(
  surface: Surface,
  request: CreateRequest,
  reply: FastifyReply
): Promise<ResponsePlace> {
  const { body, caller: principal } = request
  const { model, previous_response_id: previousId, conversation, background, store } = body
  if (previousId && conversation)
    throw new OPENAI_ERR_BAD_REQUEST('previous_response_id and conversation exclude each other')
  if (background && store === false)
    throw new OPENAI_ERR_BAD_REQUEST('background needs a response that is stored')
  const { kind, name } = readModel(model)
  await requireAllowed(surface, principal, 'run', { kind, name })
  const runnable = await requireExposed(surface, kind, name)
  const input = await resolveReferences(surface, body.input, principal)
  const read = readInput({ ...body, input })
  const isAnswer = read.outputs.length > 0 || read.approvals.length > 0

  if (previousId) {
    const previous = await requireResponseRun(surface, previousId, principal)
    if (previous.kind !== kind || previous.name !== name)
      throw new OPENAI_ERR_BAD_REQUEST(`previous_response_id is not of the model "${model}"`)
    const wait = await readWait(surface, previous, previousId)
    if (wait !== undefined && (isAnswer || wait.isOpen))
      return continueRun(surface, wait, read, request, reply)
    if (isAnswer) throw new OPENAI_ERR_BAD_REQUEST('input: the previous response waits for no output')
    return startRun(surface, runnable, read, { previous }, request, reply)
  }
  if (conversation) {
    const sessionId = typeof conversation === 'string' ? conversation : conversation.id
    const active = await findActiveRun(surface, { kind, name, sessionId }, principal)
    const wait = active && (await readWait(surface, active))
    if (wait !== undefined) return continueRun(surface, wait, read, request, reply)
    if (isAnswer) throw new OPENAI_ERR_BAD_REQUEST('input: the conversation waits for no output')
    return startRun(surface, runnable, read, { sessionId }, request, reply)
  }
  // Clients that send whole conversations name no response.
  const ids = [
    ...read.outputs.map(({ callId }) => callId),
    ...read.approvals.map(({ approvalId }) => approvalId)
  ]
  const found = await findWaitingRun(surface, { kind, name }, ids, principal)
  const wait = found && (await readWait(surface, found))
  if (wait !== undefined) return continueRun(surface, wait, read, request, reply)
  return startRun(surface, runnable, read, {}, request, reply)
}

/**
 * Continues a run that waits with what the input answers. What was answered before, here or on another surface, stays as it is: a request
 * that is sent again gets the response that followed.
 * @throws OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNANSWERED, RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_BAD_INPUT, RUN_ERR_STORE
 */
async function continueRun(
  surface: Surface,
  wait: Wait,
  given: Conversation,
  { caller }: FastifyRequest,
  reply: FastifyReply
): Promise<ResponsePlace> {
  const { runs, replies } = surface
  if (given.input !== undefined)
    throw new OPENAI_ERR_BAD_REQUEST(
      'input: the run waits for outputs, and takes no message before it has them'
    )
  const answers = await toAnswers(runs, given, wait)
  const answered = new Set(answers.map(({ inputId }) => inputId))
  const asked = [
    ...Array.from(wait.asked, ([callId, inputId]) => [inputId, `the call "${callId}"`] as const),
    ...Array.from(wait.approvals, (approvalId) => [approvalId, `the approval "${approvalId}"`] as const)
  ]
  for (const [inputId, what] of asked) {
    if (answered.has(inputId)) continue
    const found = await runs.findInput(inputId)
    if (found?.input.answer === null) throw new OPENAI_ERR_UNANSWERED(what)
  }
  await answerInputs(surface, caller, answers)
  replies.add(reply.raw)
  return { runId: wait.runId, after: wait.seq }
}

/** The answers of a request to what a run waits for. @throws RUN_ERR_STORE */
async function toAnswers(
  runs: Pick<RunEngine, 'findInput'>,
  { outputs, approvals }: Pick<Conversation, 'outputs' | 'approvals'>,
  wait: Pick<Wait, 'asked' | 'approvals'>
): Promise<GivenAnswer[]> {
  const answers: GivenAnswer[] = []
  for (const output of outputs) {
    const inputId = wait.asked.get(output.callId)
    if (inputId !== undefined) answers.push({ inputId, answer: await toAnswer(runs, inputId, output) })
  }
  for (const { approvalId, approved, reason } of approvals)
    if (wait.approvals.has(approvalId))
      answers.push({ inputId: approvalId, answer: { approved, ...(reason !== undefined && { reason }) } })
  return answers
}

// An output is a text: JSON if its value fits what is asked, else the text itself, such as "5" for a question that wants a text.
async function toAnswer(
  runs: Pick<RunEngine, 'findInput'>,
  inputId: string,
  { output, isDeclined }: CallOutput
): Promise<InputAnswer> {
  if (isDeclined) return { action: 'decline' }
  const parsed: InputAnswer = { action: 'accept', content: parseOutput(output) }
  if (parsed.content === output) return parsed
  const found = await runs.findInput(inputId)
  if (found === undefined || (await fits(found.input, parsed))) return parsed
  const text: InputAnswer = { action: 'accept', content: output }
  return (await fits(found.input, text)) ? text : parsed
}

async function fits(input: Parameters<typeof requireAnswer>[0], answer: InputAnswer): Promise<boolean> {
  try {
    await requireAnswer(input, answer)
    return true
  } catch (err) {
    if (codeOf(err) === 'RUN_ERR_BAD_INPUT') return false
    throw err
  }
}

/** Where a response of a run ends because the run waits. */
interface Wait {
  readonly runId: string
  /** The last part of the response. */
  readonly seq: number
  /** The inputs that it asks for, by the ids of their calls. */
  readonly asked: ReadonlyMap<string, string>
  /** The approvals that it asks for. */
  readonly approvals: ReadonlySet<string>
  /** True if some of them are not answered yet. */
  readonly isOpen: boolean
}

/**
 * The wait at which a response ended, or without an id the one that is open; undefined if the response is not over, or ended with its run.
 * @throws OPENAI_ERR_UNKNOWN_RESPONSE
 */
async function readWait(
  { runs }: Pick<Surface, 'runs'>,
  { runId, status }: Pick<RunSummary, 'runId' | 'status'>,
  id?: string
): Promise<Wait | undefined> {
  const builder = new ResponseBuilder()
  const waits = new Map<string, Omit<Wait, 'isOpen'>>()
  let last = ''
  let exists = id === undefined
  for await (const { part } of readPresent(runs.stores, runId)) {
    builder.add(part)
    exists ||= builder.id === id
    if (!builder.isPaused) continue
    const { calls, run } = builder
    last = builder.id
    waits.set(last, { runId, seq: run.seq, asked: new Map(calls.asked), approvals: new Set(calls.approvals) })
  }
  if (!exists) throw new OPENAI_ERR_UNKNOWN_RESPONSE(id!)
  // Only the last one may be: a response continues until the inputs of the one before are answered.
  const open =
    !isTerminalStatus(status) && (builder.isPaused || (!builder.isOver && builder.hasEarlier))
      ? last
      : undefined
  const wait = waits.get(id ?? open ?? '')
  return wait && { ...wait, isOpen: open === (id ?? open) }
}
