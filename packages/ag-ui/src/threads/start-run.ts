import { hash } from 'node:crypto'
import {
  defined,
  isTerminalStatus,
  type RunBody,
  type Runnable,
  type StartKey,
  type WhenBusy
} from '@svc/contract'
import {
  encodeEvents,
  ownerOfSessions,
  requireAllowed,
  requireExposed,
  openEventStream,
  SSE_HEADERS,
  startUnlessWaiting,
  tieToClient,
  toStartOptions,
  wantsPartial,
  type WireSurface
} from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AGUI_ERR_THREAD_WAITS } from '../errors.ts'
import { toInput, toInstructions } from '../messages/to-input.ts'
import { RunEvents } from '../projection/run-events.ts'
import { RunStream } from '../projection/run-stream.ts'
import {
  knowsOutcomes,
  readForwarded,
  type AgUiMessage,
  type AgUiTool,
  type RunAgentInput
} from '../wire/input.ts'
import { readSoFar } from './continue-run.ts'
import { fileUrlIn, type Thread } from './connect.ts'

const OWN_ID = /^([A-Za-z0-9]+)-(?:call-)?\d+(?:-result)?$/

/**
 * The run whose turn a message follows: that of the answer right before it. Answers that left no turn, such as failed ones, are passed over.
 * Undefined, for the newest turn, if what is right before it is no answer of the thread, or one that is under way, and for messages that
 * join the run under way.
 */
async function turnBefore(
  { exposed, runs, ...surface }: WireSurface,
  { kind, name, sessionId, userId }: Thread,
  runnable: Runnable,
  whenBusy: WhenBusy | undefined,
  { body, caller }: { body: RunAgentInput; caller: FastifyRequest['caller'] }
): Promise<string | undefined> {
  const { sessions } = runs.stores
  if (runnable.takesTurns !== true || sessions.hasTurn === undefined) return undefined
  if ((whenBusy ?? runnable.whenBusy) === 'steer') return undefined
  const owner = ownerOfSessions({ exposed, ...surface }, caller, userId)
  const { registry } = exposed.startOptions(runnable)
  const key = { registry, owner, kind, name, sessionId }
  for (const runId of runsOf(body)) {
    if (await sessions.hasTurn(key, runId)) return runId
    const run = await runs.find(runId)
    if (run !== undefined && !isTerminalStatus(run.status)) return undefined
  }
  return undefined
}

/** The runs that the messages of a client are of, newest first; none if the user has said something since the last answer. */
function runsOf({ messages }: RunAgentInput): Set<string> {
  const said = messages.filter(({ role }) => role === 'user' || role === 'assistant')
  if (said.at(-2)?.role !== 'assistant') return new Set()
  const answers = said.filter(({ role }) => role === 'assistant').toReversed()
  return new Set(answers.flatMap(({ id }) => OWN_ID.exec(id)?.slice(1) ?? []))
}

/**
 * Starts a run with the last message, which is a user's, and streams it. It follows the last answer that the messages have, so that a message
 * which is edited or answered again begins a branch. The same request, sent again, gets the stream of the same run.
 * @throws AGUI_ERR_FORBIDDEN, AGUI_ERR_MISSING_SCOPE, AGUI_ERR_UNKNOWN_RUNNABLE, AGUI_ERR_BAD_MESSAGE, AGUI_ERR_BAD_REQUEST,
 * AGUI_ERR_FOREIGN_USER, AGUI_ERR_THREAD_WAITS, and the errors of `RunEngine.start`
 */
export async function startRun(
  surface: WireSurface,
  thread: Thread,
  message: AgUiMessage | undefined,
  request: FastifyRequest & { body: RunAgentInput },
  reply: FastifyReply
): Promise<FastifyReply | ReadableStream<string>> {
  const { kind, name, sessionId } = thread
  const { body, caller: principal, headers, log } = request
  await requireAllowed(surface, principal, 'run', { kind, name })
  const runnable = await requireExposed(surface, kind, name)
  const { svc, metadata: forwarded } = readForwarded(body)
  const { userId, apiKey, metadata, whenBusy } = svc
  const input = svc.input === undefined && message !== undefined ? toInput(message) : svc.input
  const onDisconnect = svc.onDisconnect ?? surface.onDisconnect
  const instructions = surface.clientInstructions ? toInstructions(body.messages) : undefined
  const tools = body.tools?.length ? body.tools.map(toClientTool) : undefined
  const asked = { input, sessionId, ...defined({ userId, apiKey, metadata, instructions, tools }) } as RunBody
  const afterTurn =
    svc.afterTurn === undefined
      ? await turnBefore(surface, thread, runnable, whenBusy, request)
      : svc.afterTurn
  const { state, context } = body
  const envelope = {
    ...(forwarded && { metadata: forwarded }),
    ...(context?.length && { context }),
    ...(state !== undefined && state !== null && { state })
  }
  const run = await startUnlessWaiting(
    surface.runs,
    runnable,
    input,
    {
      ...toStartOptions(surface, runnable, { body: asked, principal, onDisconnect, headers, log }),
      ...(Object.keys(envelope).length > 0 && { envelope }),
      ...defined({ afterTurn, whenBusy }),
      startKey: toStartKey(thread, body, message)
    },
    AGUI_ERR_THREAD_WAITS
  )
  tieToClient(surface.replies, reply, run, onDisconnect)
  const fileUrl = fileUrlIn(surface, thread, request)
  const events = new RunEvents({ fileUrl, isCurrent: knowsOutcomes(body.protocolVersion) })
  // A message that has joined a run gets what follows it: the client may have the rest.
  const isUnderWay = run.joined && (await readSoFar(surface, run.runId, events)).events.run.end === undefined
  const projection = new RunStream(events, isUnderWay ? { head: encodeEvents(events.resume()) } : {})
  return openEventStream(surface, reply, run.runId, projection, wantsPartial(request))
}

/**
 * Replies with a run of which the log knows nothing: what a page gets that runs its agent when it is mounted, before the user has said
 * anything.
 * @throws AGUI_ERR_FORBIDDEN, AGUI_ERR_MISSING_SCOPE, AGUI_ERR_UNKNOWN_RUNNABLE
 */
export async function sendEmptyRun(
  surface: WireSurface,
  { kind, name }: Thread,
  { body: { threadId, runId }, caller }: FastifyRequest & { body: RunAgentInput },
  reply: FastifyReply
): Promise<FastifyReply> {
  await requireAllowed(surface, caller, 'run', { kind, name })
  await requireExposed(surface, kind, name)
  const events = encodeEvents([
    { type: 'RUN_STARTED', threadId, runId, protocolVersion: '1.0', timestamp: Date.now() },
    { type: 'RUN_FINISHED', threadId, runId, outcome: { type: 'success' } }
  ])
  return reply.headers(SSE_HEADERS).send(events)
}

// Clients before version 1.0 send null for no schema.
function toClientTool({ name, description, parameters }: AgUiTool) {
  return { name, description, input: { type: 'object' as const, properties: {}, ...parameters } }
}

// The content is part of the key, so that every other message is another start.
function toStartKey(
  { kind, name, sessionId, userId }: Thread,
  { runId }: RunAgentInput,
  message: AgUiMessage | undefined
): StartKey {
  const content = JSON.stringify([kind, name, sessionId, userId, runId, message?.content])
  return { key: `agui:${hash('sha256', content, 'base64url')}`, hash: '' }
}
