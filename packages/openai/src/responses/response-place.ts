import { isTerminalStatus, type Runnable, type RunSummary } from '@svc/contract'
import {
  answerInputs,
  answerOfText,
  findActiveRun,
  readPresent,
  readRunnableId,
  requireAllowed,
  requireExposed,
  type GivenAnswer,
  type RunEngine
} from '@svc/surface'
import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNANSWERED, OPENAI_ERR_UNKNOWN_RESPONSE } from '../errors.ts'
import type { Surface } from '../surface.ts'
import type { Conversation } from '../wire/conversation.ts'
import { findWaitingRun } from '../wire/find-waiting-run.ts'
import { resolveReferences } from './item-references.ts'
import { readInput } from './read-input.ts'
import { requireResponseRun } from './read-responses.ts'
import { ResponseBuilder } from './response-builder.ts'
import { toItems } from './response-schemas.ts'
import { startRun, type Asking, type FoundPlace, type ResponsePlace } from './start-run.ts'

/** What a request asks of whom, if its caller may. */
export interface Admitted {
  readonly runnable: Runnable
  readonly read: Conversation
}

/**
 * Reads a request, and finds what it asks.
 * @throws OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED, OPENAI_ERR_UNKNOWN_MODEL, OPENAI_ERR_UNKNOWN_ITEM, OPENAI_ERR_FORBIDDEN,
 * OPENAI_ERR_MISSING_SCOPE, RUN_ERR_STORE
 */
export async function admitRequest(
  surface: Surface,
  { body, caller }: Pick<Asking, 'body' | 'caller'>
): Promise<Admitted> {
  const { model, previous_response_id: previousId, conversation, background, store } = body
  if (previousId && conversation)
    throw new OPENAI_ERR_BAD_REQUEST('previous_response_id and conversation exclude each other')
  if (background && store === false)
    throw new OPENAI_ERR_BAD_REQUEST('background needs a response that is stored')
  const { kind, name } = readRunnableId(model)
  await requireAllowed(surface, caller, 'run', { kind, name })
  const runnable = await requireExposed(surface, kind, name)
  const input = await resolveReferences(surface, body.input, caller)
  return { runnable, read: readInput({ ...body, input }) }
}

/** Where the response begins that a request asks for. */
export async function findPlace(surface: Surface, asking: Asking): Promise<FoundPlace> {
  const { body, caller } = asking
  const { previous_response_id: previousId, conversation } = body
  const { runnable, read } = await admitRequest(surface, asking)
  const { kind, name } = runnable
  const isAnswer = read.outputs.length > 0 || read.approvals.length > 0

  if (previousId) {
    const kept = asking.kept?.find(previousId)
    const responseId = kept === undefined ? previousId : kept.responseId
    const previous = responseId === undefined ? undefined : await requirePrevious(surface, responseId, asking)
    const wait = previous && (await readWait(surface, previous, responseId))
    if (wait !== undefined && (isAnswer || wait.isOpen)) {
      const place = await continueRun(surface, wait, read, asking)
      return { ...place, isWhole: kept?.isWhole ?? false }
    }
    if (isAnswer) throw new OPENAI_ERR_BAD_REQUEST('input: the previous response waits for no output')
    if (kept === undefined) return startRun(surface, runnable, read, { previous }, asking)
    const input = [...kept.items, ...toItems(body.input)]
    const { read: whole } = await admitRequest(surface, { caller, body: { ...body, input } })
    return startRun(surface, runnable, whole, kept.isWhole ? {} : { previous }, asking)
  }
  if (conversation) {
    const sessionId = typeof conversation === 'string' ? conversation : conversation.id
    const active = await findActiveRun(surface, { kind, name, sessionId }, caller)
    const wait = active && (await readWait(surface, active))
    if (wait !== undefined) return { ...(await continueRun(surface, wait, read, asking)), isWhole: false }
    if (isAnswer) throw new OPENAI_ERR_BAD_REQUEST('input: the conversation waits for no output')
    return startRun(surface, runnable, read, { sessionId }, asking)
  }
  // Clients that send whole conversations name no response.
  const ids = [
    ...read.outputs.map(({ callId }) => callId),
    ...read.approvals.map(({ approvalId }) => approvalId)
  ]
  const found = await findWaitingRun(surface, { kind, name }, ids, caller)
  const wait = found && (await readWait(surface, found))
  if (wait !== undefined) return { ...(await continueRun(surface, wait, read, asking)), isWhole: true }
  return startRun(surface, runnable, read, {}, asking)
}

/** The run of the response before. @throws OPENAI_ERR_UNKNOWN_RESPONSE, OPENAI_ERR_BAD_REQUEST, RUN_ERR_STORE */
export async function requirePrevious(
  surface: Surface,
  responseId: string,
  { body: { model }, caller, kept }: Pick<Asking, 'body' | 'caller' | 'kept'>
): Promise<RunSummary> {
  const previous = await requireResponseRun(surface, responseId, caller, kept?.has(responseId))
  const { kind, name } = readRunnableId(model)
  if (previous.kind !== kind || previous.name !== name)
    throw new OPENAI_ERR_BAD_REQUEST(`previous_response_id is not of the model "${model}"`)
  return previous
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
  asking: Asking
): Promise<ResponsePlace> {
  const { runs } = surface
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
  await answerInputs(surface, asking.caller, answers)
  asking.follow()
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
    if (inputId === undefined) continue
    const answer = output.isDeclined
      ? ({ action: 'decline' } as const)
      : await answerOfText(runs, inputId, output.output)
    answers.push({ inputId, answer })
  }
  for (const { approvalId, approved, reason } of approvals)
    if (wait.approvals.has(approvalId))
      answers.push({ inputId: approvalId, answer: { approved, ...(reason !== undefined && { reason }) } })
  return answers
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
