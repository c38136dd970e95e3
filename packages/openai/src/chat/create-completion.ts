import { hash } from 'node:crypto'
import {
  codeOf,
  errorFromStored,
  type Principal,
  type RunBody,
  type Runnable,
  type RunnableKind,
  type RunSummary
} from '@svc/contract'
import { RUN_ERR_CANCELED, RUN_ERR_FAILED, RUN_ERR_SUSPENDED } from '@svc/contract/errors'
import {
  answerInputs,
  mayAnswer,
  openEventStream,
  readPresent,
  readRunnableId,
  requireAllowed,
  requireExposed,
  tieToClient,
  toStartOptions,
  valueOfText
} from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNANSWERED } from '../errors.ts'
import { fileUrlIn } from '../files/file-urls.ts'
import type { Surface } from '../surface.ts'
import { toToolUse } from '../wire/client-tools.ts'
import { toRunInput, type CallOutput } from '../wire/conversation.ts'
import { findWaitingRun } from '../wire/find-waiting-run.ts'
import { toFormatInstructions, toStopTexts } from '../wire/response-format.ts'
import { CompletionEvents, readCallId, type WaitingCall } from './completion-events.ts'
import { CompletionMessage, readTools, type CompletionEvent, type GivenTools } from './completion-message.ts'
import type { Completion, CompletionBody } from './completion-schemas.ts'
import { CompletionStream } from './completion-stream.ts'
import { readMessages, type ReadMessages } from './read-request.ts'

/** A run that waits for outputs of a request. */
export interface WaitingRun {
  readonly runId: string
  /** True if a completion gave the client the call, so that its run is the client's own. */
  readonly isOwn: boolean
  /** The log so far. */
  readonly events: CompletionEvents
  /** The events of the completion that is under way; none if the last one is over. */
  readonly seen: readonly CompletionEvent[]
  /** The outputs, by the input that each answers. */
  readonly outputs: ReadonlyMap<string, CallOutput>
}

/** The run of the caller that waits for one of these outputs; undefined if there is none. */
async function findWaitingCall(
  surface: Surface,
  runnable: { readonly kind: RunnableKind; readonly name: string },
  outputs: readonly CallOutput[],
  principal: Principal,
  make: () => CompletionEvents
): Promise<WaitingRun | undefined> {
  if (outputs.length === 0) return undefined
  const own = await findOwn(surface, runnable, outputs, principal)
  const callIds = outputs.map(({ callId }) => callId)
  const runId = own ?? (await findWaitingRun(surface, runnable, callIds, principal))?.runId
  if (runId === undefined) return undefined
  const events = make()
  let seen: CompletionEvent[] = []
  for await (const { part } of readPresent(surface.runs.stores, runId)) {
    for (const event of events.add(part)) {
      if (event.type === 'begin') seen = []
      seen.push(event)
    }
  }
  const given = toAnswered(events.waiting, outputs)
  if (given.size === 0) return undefined
  return { runId, isOwn: own !== undefined, events, seen: events.isOver ? [] : seen, outputs: given }
}

// By the ids that completions give.
async function findOwn(
  surface: Surface,
  { kind, name }: Pick<RunSummary, 'kind' | 'name'>,
  outputs: readonly CallOutput[],
  principal: Principal
): Promise<string | undefined> {
  for (const { callId } of outputs) {
    const inputId = readCallId(callId)
    const found = inputId === undefined ? undefined : await surface.runs.findInput(inputId)
    if (found === undefined || found.input.kind !== 'tool' || found.input.answer !== null) continue
    const { run } = found
    if (run.kind === kind && run.name === name && (await mayAnswer(surface, run, 'tool', principal)))
      return run.runId
  }
  return undefined
}

// Ids of the log are those that other wires give.
function toAnswered(
  waiting: readonly WaitingCall[],
  outputs: readonly CallOutput[]
): Map<string, CallOutput> {
  const answered = new Map<string, CallOutput>()
  for (const { inputId, toolCallId, call } of waiting) {
    const output = outputs.find(
      ({ callId }) => callId === call.id || callId === inputId || callId === toolCallId
    )
    if (output !== undefined) answered.set(inputId, output)
  }
  return answered
}

type CompletionRequest = FastifyRequest<{ Body: CompletionBody }>

/** A completion that is to be sent: of which run, and what of its log was read. */
interface Begun {
  readonly runId: string
  readonly events: CompletionEvents
  readonly seen: readonly CompletionEvent[]
}

/**
 * Creates a completion: continues the run that waits for the outputs at the end of the messages, else starts one.
 * @throws OPENAI_ERR_* of requests, and the errors of `RunEngine.start`, of `RunEngine.answer` and of the run
 */
export async function createCompletion(
  surface: Surface,
  request: CompletionRequest,
  reply: FastifyReply
): Promise<unknown> {
  const { body, caller: principal } = request
  const { kind, name } = readRunnableId(body.model)
  await requireAllowed(surface, principal, 'run', { kind, name })
  const runnable = await requireExposed(surface, kind, name)
  const read = readMessages(body.messages)
  const fileUrl = fileUrlIn(surface, request)
  const isValue = isJson(body.response_format) || runnable.describe().output !== undefined
  const given = readTools(body)
  const make = (endsAtCall = false) => new CompletionEvents(fileUrl, isValue, given.areFunctions, endsAtCall)
  const waiting = await findWaitingCall(surface, { kind, name }, read.conversation.outputs, principal, make)
  if (waiting !== undefined) await continueRun(surface, waiting, request, reply)
  const begun = waiting ?? {
    runId: await startRun(surface, runnable, { ...read, ...given }, request, reply),
    events: make(given.endsAtCall),
    seen: []
  }
  void reply.header('x-run-id', begun.runId)
  const endsAtCall = waiting === undefined ? given.endsAtCall : given.areFunctions
  if (endsAtCall) cancelAfter(surface, begun, reply)
  return body.stream ? openStream(surface, begun, body, reply) : awaitCompletion(surface, begun, reply)
}

async function continueRun(
  surface: Surface,
  { runId, isOwn, events, outputs }: WaitingRun,
  request: CompletionRequest,
  reply: FastifyReply
): Promise<void> {
  for (const { inputId, call } of events.isOver ? events.waiting : [])
    if (!outputs.has(inputId)) throw new OPENAI_ERR_UNANSWERED(`the tool call "${call.id}"`)
  const answers = Array.from(outputs, ([inputId, { output }]) => ({
    inputId,
    answer: { action: 'accept' as const, content: valueOfText(output) }
  }))
  await answerInputs(surface, request.caller, answers)
  events.markAnswered([...outputs.keys()])
  const cancel = () =>
    surface.runs.cancel(runId).then(
      () => true,
      (err: unknown) => {
        if (codeOf(err) !== 'RUN_ERR_TERMINAL') throw err
        return false
      }
    )
  // A run that was started elsewhere is not this client's to cancel.
  const run = { runId, replayed: !isOwn, joined: false, cancel }
  tieToClient(surface.replies, reply, run, surface.onDisconnect)
}

async function startRun(
  surface: Surface,
  runnable: Runnable,
  { conversation, fault, tools, choice }: ReadMessages & GivenTools,
  { body, caller: principal, headers, log }: CompletionRequest,
  reply: FastifyReply
): Promise<string> {
  if (fault !== undefined) throw new OPENAI_ERR_BAD_REQUEST(fault)
  const { response_format: format, metadata } = body
  const input = conversation.input === undefined ? undefined : toRunInput(conversation.input, runnable)
  const texts = [conversation.instructions, toFormatInstructions(format, runnable, surface)]
  const instructions = texts.filter((text) => text !== undefined).join('\n\n')
  const stop = toStopTexts(body.stop)
  const asked = {
    input,
    // The client keeps the conversation, even one that begins.
    ...(runnable.kind !== 'workflow' && { messages: [...conversation.messages] }),
    ...(metadata && { metadata }),
    ...(instructions !== '' && { instructions }),
    ...toToolUse(tools, choice),
    ...(stop !== undefined && { stop })
  } as RunBody
  const { onDisconnect } = surface
  const options = toStartOptions(surface, runnable, { body: asked, principal, onDisconnect, headers, log })
  const key = headers['idempotency-key']
  const run = await surface.runs.start(runnable, input, {
    ...options,
    ...(typeof key === 'string' && {
      startKey: { key: `openai-chat:${key}`, hash: hash('sha256', JSON.stringify(body)) }
    })
  })
  tieToClient(surface.replies, reply, run, onDisconnect)
  return run.runId
}

// No request answers the run that waits for the call.
function cancelAfter({ runs }: Surface, { runId, events }: Begun, reply: FastifyReply): void {
  reply.raw.once('close', () => {
    if (events.waiting.length > 0) runs.cancel(runId).catch(() => {})
  })
}

function openStream(
  surface: Surface,
  { runId, events, seen }: Begun,
  { stream_options: options }: CompletionBody,
  reply: FastifyReply
): ReadableStream<string> {
  const projection = new CompletionStream(events, options?.include_usage === true, seen)
  return openEventStream(surface, reply, runId, projection)
}

/** Follows a run until its completion is over. @throws the error of the run, RUN_ERR_CANCELED, RUN_ERR_SUSPENDED */
async function awaitCompletion(
  surface: Surface,
  { runId, events, seen }: Begun,
  reply: FastifyReply
): Promise<Completion> {
  const message = new CompletionMessage()
  for (const event of seen) message.add(event)
  for await (const part of surface.runs.parts(runId, events.run.seq)) {
    for (const event of events.add(part)) message.add(event)
    if (!events.isOver) continue
    const completion = message.build(events)
    if (completion !== undefined) return completion
    throw await errorOf(surface, runId, message, reply)
  }
  throw surface.runs.faultOf(runId) ?? new RUN_ERR_SUSPENDED()
}

async function errorOf(
  { runs }: Surface,
  runId: string,
  { error }: CompletionMessage,
  reply: FastifyReply
): Promise<Error> {
  if (error?.code === 'RUN_ERR_CANCELED') return new RUN_ERR_CANCELED()
  const stored = (await runs.find(runId))?.error
  // SDKs repeat requests that fail with 500, and so the run.
  if (stored?.retryable !== true) void reply.header('x-should-retry', 'false')
  return stored ? errorFromStored(stored) : new RUN_ERR_FAILED()
}

function isJson(format: CompletionBody['response_format']): boolean {
  return format?.type === 'json_schema' || format?.type === 'json_object'
}
