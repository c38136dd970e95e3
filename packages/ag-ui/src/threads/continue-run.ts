import { reachesOwner, type RunSummary } from '@svc/contract'
import { RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_LOG_GONE } from '@svc/contract/errors'
import {
  answerInputs,
  encodeEvents,
  mayAnswer,
  readPresent,
  requireRunOf,
  openEventStream,
  SSE_HEADERS,
  tieToClient,
  wantsPartial,
  type GivenAnswer,
  type WireSurface
} from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AGUI_ERR_NOTHING_ANSWERED, AGUI_ERR_RUN_ENDED } from '../errors.ts'
import { runOfCall, toGivenAnswers, type Answers } from '../messages/read-answers.ts'
import { RunEvents, type EventOptions } from '../projection/run-events.ts'
import { RunStream } from '../projection/run-stream.ts'
import { knowsOutcomes, type RunAgentInput } from '../wire/input.ts'
import { fileUrlIn, type Thread } from './connect.ts'

/** A place where a run began to wait, and for what. */
export interface Wait {
  readonly seq: number
  readonly inputIds: ReadonlySet<string>
}

/** Reads the log of a run up to a part, default all that it has now; returns where the run began to wait. @throws RUN_ERR_STORE */
export async function readSoFar(
  { runs }: WireSurface,
  runId: string,
  events: RunEvents,
  until = Infinity
): Promise<{ events: RunEvents; waits: Wait[] }> {
  const waits: Wait[] = []
  let wasWaiting = false
  for await (const { seq, part } of readPresent(runs.stores, runId)) {
    if (seq > until) break
    events.add(part)
    const { isWaiting, pending } = events.run
    if (isWaiting && !wasWaiting) waits.push({ seq, inputIds: new Set(pending.keys()) })
    wasWaiting = isWaiting
  }
  return { events, waits }
}

/**
 * Continues the run that waits for these answers, and streams what follows the place where it asked for them, in a part of the run with
 * an id of its own. Inputs that were answered before, here or on another surface, are passed over, so that a request may be sent again.
 * Callers who may answer, but are not the owner, get a stream that only begins and ends.
 * @throws RUN_ERR_NOT_FOUND, RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_LOG_GONE, AGUI_ERR_NOTHING_ANSWERED, RUN_ERR_BAD_INPUT, RUN_ERR_STORE
 */
export async function continueRun(
  surface: WireSurface,
  thread: Thread,
  answers: Answers,
  request: FastifyRequest & { body: RunAgentInput },
  reply: FastifyReply
): Promise<FastifyReply | ReadableStream<string>> {
  const { body } = request
  const { runId, owner } = await requireAsking(surface, thread, answers, request)
  const options: EventOptions = {
    fileUrl: fileUrlIn(surface, thread, request),
    isCurrent: knowsOutcomes(body.protocolVersion),
    known: new Set(answers.results.flatMap(({ toolCallId }) => toolCallId ?? []))
  }
  const { events: present, waits } = await readSoFar(surface, runId, new RunEvents(options))
  const { seq } = present.run
  if (seq === 0) throw new RUN_ERR_LOG_GONE()
  const given = toGivenAnswers(answers, present)
  if (given.length === 0) throw new AGUI_ERR_NOTHING_ANSWERED()
  const place = placeOf(given, waits) ?? seq
  if (present.run.end !== undefined && place === seq) throw new AGUI_ERR_RUN_ENDED()
  await answerInputs(surface, request.caller, given)
  if (!reachesOwner(request.caller, owner))
    return reply.headers(SSE_HEADERS).send(encodeEvents([...present.resume(), ...present.finish()]))
  const isBehind = place < seq
  const events = isBehind ? (await readSoFar(surface, runId, new RunEvents(options), place)).events : present
  tieToClient(surface.replies, reply)
  const projection = new RunStream(events, {
    head: encodeEvents(events.resume()),
    answered: given.map(({ inputId }) => inputId)
  })
  return openEventStream(surface, reply, runId, projection, wantsPartial(request))
}

/** The run that asked for what is answered. @throws RUN_ERR_NOT_FOUND, RUN_ERR_INPUT_NOT_FOUND, AGUI_ERR_NOTHING_ANSWERED */
async function requireAsking(
  surface: WireSurface,
  thread: Thread,
  { resume, results }: Answers,
  { caller }: Pick<FastifyRequest, 'caller'>
): Promise<RunSummary> {
  const [entry] = resume
  if (entry === undefined) {
    const runId = results.map(({ toolCallId }) => runOfCall(toolCallId)).find((id) => id !== undefined)
    if (runId === undefined) throw new AGUI_ERR_NOTHING_ANSWERED()
    return requireRunOf(surface, thread, runId, caller)
  }
  // Another's input is not found, and neither is its run.
  const found = await surface.runs.findInput(entry.interruptId)
  if (found === undefined || !(await mayAnswer(surface, found.run, found.input.kind, caller)))
    throw new RUN_ERR_INPUT_NOT_FOUND(entry.interruptId)
  const run = await surface.runs.find(found.run.runId)
  if (run?.kind !== thread.kind || run.name !== thread.name || run.sessionId !== thread.sessionId)
    throw new RUN_ERR_INPUT_NOT_FOUND(entry.interruptId)
  return run
}

/** Where the client's last stream of the run ended: the last wait for all that is answered, or for a part of it. */
function placeOf(given: readonly GivenAnswer[], waits: readonly Wait[]): number | undefined {
  const isAsked = ({ inputIds }: Wait) => given.map(({ inputId }) => inputIds.has(inputId))
  const whole = waits.findLast((wait) => isAsked(wait).every(Boolean))
  return (whole ?? waits.findLast((wait) => isAsked(wait).some(Boolean)))?.seq
}
