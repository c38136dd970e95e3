import {
  isLateAnswer,
  isPromise,
  isTerminalStatus,
  randomId,
  reachesOwner,
  type ApprovalAnswer,
  type FoundInput,
  type InputAnswer,
  type InputKind,
  type InputSummary,
  type RunSummary
} from '@svc/contract'
import type { KeyedLock } from '@svc/contract/stores'
import { LISTED_KINDS, mayAnswer, requireAnswer } from '@svc/surface'
import { A2A_ERR_TASK_NOT_FOUND, A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { Message } from '../model/message.ts'
import type { Call, SendRequest } from '../model/requests.ts'
import { requireExtensions } from '../service/extensions.ts'
import { requirePushes, type Surface } from '../service/surface.ts'
import { taskStateOf, waitingState } from '../tasks/task-events.ts'
import { badParams } from '../wire/decode-params.ts'
import { chooseAgent, lastTaskOf, readAgentName, requireMayRun, type FindLast } from './choose-agent.ts'
import { joinTask, requireInputModes, requireOutputModes, requireRun } from './join-task.ts'
import { ReachedTask, startTask, type Accepted } from './start-task.ts'
import {
  hasMessage,
  hasStarted,
  keepMessage,
  readAnswer,
  requireCapacity,
  toKeptMessage,
  toStartKey,
  toTaskMessage,
  withoutBytes,
  withoutContent,
  type GivenAnswer,
  type TextAnswer
} from './task-messages.ts'

/** What a text says as the content of an answer. */
interface TextContent {
  readonly content: unknown
}

/**
 * The content that a text gives to a question with this schema. Where only texts fit, or anything does, it is the text itself, which may
 * not fit. Else it is the first of these that fits, or undefined: the text, what it is as JSON, yes or no as a boolean, and each of
 * them as the only property that an object may have.
 */
async function contentOfText(text: string, schema: unknown): Promise<TextContent | undefined> {
  if (isTextual(schema)) return { content: text }
  // Loaded lazily: few services need its pattern engine.
  const { compileForeignSchema } = await import('@svc/contract/schemas')
  const { check } = compileForeignSchema(schema)
  const readings = readingsOf(text)
  const name = onlyPropertyOf(schema)
  const all = name === undefined ? readings : [...readings, ...readings.map((value) => ({ [name]: value }))]
  const content = all.find((value) => check(value) === undefined)
  return content === undefined ? undefined : { content }
}

const WORDS = new Map<string, boolean>([
  ['yes', true],
  ['no', false],
  ['true', true],
  ['false', false]
])

function readingsOf(text: string): unknown[] {
  const readings: unknown[] = [text]
  try {
    readings.push(JSON.parse(text))
  } catch {}
  const word = WORDS.get(text.trim().toLowerCase())
  if (word !== undefined) readings.push(word)
  return readings
}

function onlyPropertyOf(schema: unknown): string | undefined {
  const { type, properties } = schema as { type?: unknown; properties?: unknown }
  if (type !== 'object' || typeof properties !== 'object' || properties === null) return undefined
  const [name, another] = Object.keys(properties)
  return another === undefined && name !== '__proto__' ? name : undefined
}

/** True if all values that fit a schema are texts, or if there is no schema. */
function isTextual(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return schema === undefined || schema === true
  const { type, const: only, enum: some, anyOf, oneOf } = schema as Record<string, unknown>
  const branches = anyOf ?? oneOf
  return (
    type === 'string' ||
    typeof only === 'string' ||
    (Array.isArray(some) && some.every((each) => typeof each === 'string')) ||
    (Array.isArray(branches) && branches.every(isTextual))
  )
}

/** A valid answer and its input. */
export interface Answered {
  readonly inputId: string
  readonly answer: ApprovalAnswer | InputAnswer
}

/**
 * The pending input of a task that a message answers, with the answer, which fits it; undefined for a text that answers none: while
 * several wait, or that is no word for an approval, or does not fit a question whose answer need not be a text.
 * @throws A2A_ERR_BAD_PARAMS, RUN_ERR_BAD_INPUT
 */
async function findAnswered(
  surface: Surface,
  { principal }: Call,
  run: RunSummary,
  given: GivenAnswer
): Promise<Answered | undefined> {
  const found = 'text' in given ? onlyOne(run) : await findPending(surface, run, given)
  if (found === undefined) return undefined
  const answer = 'text' in given ? await fromText(found, given) : given.answer
  if (answer === undefined) return undefined
  if (!(await mayAnswer(surface, run, found.kind, principal))) throw notPending(found.kind)
  await requireAnswer(found, answer)
  return { inputId: found.inputId, answer: answer as ApprovalAnswer | InputAnswer }
}

/** True if a run waits for a single answer, which this text is, or for credentials, which it may be meant for. */
async function takesText(run: RunSummary, text: string): Promise<boolean> {
  if (waitingState(run.waiting.inputs.first) === 'auth-required') return true
  const found = onlyOne(run)
  return found?.kind === 'question' && (await contentOfText(text, found.schema)) !== undefined
}

function onlyOne({ waiting: { approvals, inputs } }: RunSummary): InputSummary | undefined {
  return approvals.count + inputs.count === 1 ? (approvals.first[0] ?? inputs.first[0]) : undefined
}

async function findPending(
  { runs }: Surface,
  { runId }: RunSummary,
  { list, inputId }: Exclude<GivenAnswer, TextAnswer>
): Promise<InputSummary> {
  const found: FoundInput | undefined = await runs.findInput(inputId)
  const kinds: readonly InputKind[] = LISTED_KINDS[list]
  if (found?.run.runId !== runId || found.input.answer !== null || !kinds.includes(found.input.kind))
    throw notPending(list === 'approvals' ? 'approval' : 'question')
  return found.input
}

function notPending(kind: InputKind): Error {
  return badParams('message.parts', `No such ${kind === 'approval' ? 'approval' : 'input'} is pending`)
}

async function fromText(
  { kind, schema }: InputSummary,
  { text, isExact }: TextAnswer
): Promise<ApprovalAnswer | InputAnswer | undefined> {
  if (kind === 'approval')
    return isExact && (text === 'approve' || text === 'deny') ? { approved: text === 'approve' } : undefined
  // Credentials are never a text: they would be taken for one by a client that converses.
  if (kind !== 'question') return undefined
  const given = await contentOfText(text, schema)
  return given && { action: 'accept', ...given }
}

/** The request for a task that reads no more messages, as one that begins a task of its own after it. @throws A2A_ERR_TASK_NOT_FOUND */
async function asOwnTask(surface: Surface, request: SendRequest): Promise<SendRequest> {
  return toOwnTask(request, await requireRun(surface, request.message.taskId!))
}

/** True if a message to a task that has ended is repeated, and began a task of its own before. */
async function hasOwnTask(
  surface: Surface,
  call: Call,
  request: SendRequest,
  run: RunSummary
): Promise<boolean> {
  return hasStarted(surface, call, toOwnTask(request, run).message, run)
}

function toOwnTask(request: SendRequest, { name, sessionId: contextId }: RunSummary): SendRequest {
  const { taskId: _, ...message } = request.message
  const metadata = { ...message.metadata, agentName: name, whenBusy: 'queue' }
  return { ...request, message: { ...message, contextId, metadata } }
}

/**
 * Accepts a message to a task that waits for input, which keeps waiting unless the message is an answer, or to one that is working, which
 * the message joins. Undefined if that task reads no more messages. Of callers who may answer, but are not its owner, a task takes nothing but
 * a complete answer, and stores nothing.
 * @throws A2A_ERR_TASK_NOT_FOUND, A2A_ERR_BAD_PARAMS, A2A_ERR_UNSUPPORTED, A2A_ERR_FORBIDDEN, RUN_ERR_BAD_INPUT, RUN_ERR_WHEN_BUSY
 */
async function answerTask(
  surface: Surface,
  call: Call,
  request: SendRequest
): Promise<RunSummary | undefined> {
  const { message } = request
  const run = await requireAnswerable(surface, call, message.taskId!)
  const name = readAgentName(request)
  if (name !== undefined && name !== run.name)
    throw badParams('message.metadata.agentName', `The task belongs to the agent "${run.name}"`)
  if (message.contextId !== undefined && message.contextId !== run.sessionId)
    throw badParams('message.contextId', 'The task belongs to another context')

  const answer = readAnswer(message.parts)
  if (!reachesOwner(call.principal, run.owner)) return answerForOwner(surface, call, request, run, answer)
  const whole = { ...message, messageId: message.messageId ?? randomId() }
  const kept = await toKeptMessage(surface, run, whole, answer)
  const given = toTaskMessage(surface, call, message.messageId === undefined ? message : kept, kept)
  const known = await surface.tasks.get(run.runId)
  const messages = (known?.messages ?? []) as Message[]
  // Sent twice, a message is one answer.
  if (hasMessage(messages, given) || hasMessage(messages, { ...given, stored: withoutContent(whole) }))
    return run
  if (isTerminalStatus(run.status) && (await hasOwnTask(surface, call, request, run))) return undefined
  if (isTerminalStatus(run.status)) throw new A2A_ERR_UNSUPPORTED(`the task is ${taskStateOf(run)}`)
  if (run.status !== 'input-required') {
    // It was sent again, or too late: the model is not to read it.
    if (answer !== undefined && 'inputId' in answer)
      throw new A2A_ERR_UNSUPPORTED('the task is not waiting for this answer')
    return joinTask(surface, call, request, { run, known, given })
  }
  const answered = answer && (await findAnswered(surface, call, run, answer))
  if (answered === undefined) requireCapacity(messages)
  // Another node may have it meanwhile.
  if (!(await keepMessage(surface, run, known, given))) return run
  return answered === undefined ? run : answerRun(surface, answered)
}

async function answerForOwner(
  surface: Surface,
  call: Call,
  { push }: SendRequest,
  run: RunSummary,
  answer: GivenAnswer | undefined
): Promise<RunSummary> {
  if (push !== undefined)
    throw badParams('configuration.taskPushNotificationConfig', 'Only the owner of a task is notified of it')
  const answered = answer && (await findAnswered(surface, call, run, answer))
  if (answered === undefined)
    throw badParams('message.parts', 'Expected an answer to what the task of another user waits for')
  return answerRun(surface, answered)
}

// It may have been answered elsewhere meanwhile, or have expired.
async function answerRun({ runs }: Surface, { inputId, answer }: Answered): Promise<RunSummary> {
  try {
    return await runs.answer(inputId, answer)
  } catch (err) {
    if (!isLateAnswer(err)) throw err
    throw new A2A_ERR_UNSUPPORTED((err as Error).message)
  }
}

async function requireAnswerable(surface: Surface, { principal }: Call, taskId: string): Promise<RunSummary> {
  const run = await surface.runs.find(taskId)
  if (run !== undefined)
    for (const kind of kindsOf(run)) if (await mayAnswer(surface, run, kind, principal)) return run
  throw new A2A_ERR_TASK_NOT_FOUND()
}

// Permission to answer every approval or question gives access to tasks of others only while one waits; else only the owner has it.
function kindsOf({ waiting: { approvals, inputs } }: RunSummary): ReadonlySet<InputKind> {
  return new Set([...approvals.first, ...inputs.first].map(({ kind }) => kind)).add('tool')
}

/**
 * The request for a message that names a context only, as one to the last task there, if that waits for nothing but such an answer, or for
 * credentials: clients that keep a context, but no tasks, answer so. Undefined for every other message, and for one that names another agent, or says
 * what it does while a task is under way.
 * @throws A2A_ERR_BAD_PARAMS
 */
async function asAnswer(
  surface: Surface,
  call: Call,
  request: SendRequest,
  findLast: FindLast
): Promise<SendRequest | undefined> {
  const { message } = request
  const text = readText(request)
  if (text === undefined) return undefined
  const { exposed, runs } = surface
  const last = await findLast()
  if (last === undefined || (await exposed.find(last.agentName)) === undefined) return undefined
  if ((readAgentName(request) ?? last.agentName) !== last.agentName) return undefined
  const answer = { ...message, taskId: last.taskId }
  const run = await runs.find(last.taskId)
  const isAsked = run?.status === 'input-required' && (await takesText(run, text))
  // A repetition of the message that began the task is no answer to what the task asks.
  const isAnswer = isAsked
    ? !(await hasStarted(surface, call, message, last))
    : isRepeated(surface, call, answer, last.messages)
  return isAnswer ? { ...request, message: answer } : undefined
}

// Undefined for a message of another kind.
function readText({ message, metadata }: SendRequest): string | undefined {
  const answer = readAnswer(message.parts)
  if (answer === undefined || !('text' in answer)) return undefined
  const { whenBusy, afterTurn } = { ...metadata, ...message.metadata }
  return whenBusy === undefined && afterTurn === undefined ? answer.text : undefined
}

function isRepeated(
  surface: Surface,
  call: Call,
  answer: SendRequest['message'],
  messages: readonly unknown[]
): boolean {
  if (answer.messageId === undefined) return false
  const forms = [withoutBytes(answer as Message), withoutContent(answer as Message)]
  return forms.some((stored) =>
    hasMessage(messages as Message[], toTaskMessage(surface, call, answer, stored))
  )
}

/**
 * Starts a task for a message, or passes it to the task that it names. A repetition of a message is accepted once
 * within `dedupeWindow`.
 * @throws what `answerTask`, `chooseAgent` and `RunEngine.start` throw, A2A_ERR_EXTENSION_REQUIRED, A2A_ERR_FORBIDDEN,
 * A2A_ERR_NO_PUSH, A2A_ERR_CONTENT_TYPE
 */
export function acceptMessage(surface: Surface, call: Call, request: SendRequest): Promise<Accepted> {
  const { push } = request
  requireExtensions(surface.extensions, call.extensions)
  if (push === undefined) return acceptOnce(surface, call, request)
  const checked = requirePushes(surface).check(push.url, call.principal.sub)
  return checked.then(() => acceptOnce(surface, call, request))
}

function acceptOnce(surface: Surface, call: Call, request: SendRequest): Promise<Accepted> {
  const { message } = request
  if (toStartKey(message, surface, call) === undefined) return dispatch(surface, call, request)
  const key = `message ${call.principal.sub} ${message.messageId}`
  return inTurn(surface.turns, key, () => dispatch(surface, call, request))
}

function dispatch(surface: Surface, call: Call, request: SendRequest): Promise<Accepted> {
  const { taskId, contextId } = request.message
  if (taskId !== undefined) return reachTask(surface, call, request, taskId)
  return contextId === undefined
    ? chooseAndStart(surface, call, request)
    : continueContext(surface, call, request, contextId)
}

async function reachTask(
  surface: Surface,
  call: Call,
  request: SendRequest,
  taskId: string
): Promise<Accepted> {
  const { push } = request
  const run = await inTurn(surface.turns, `task ${taskId}`, () => answerTask(surface, call, request))
  if (run === undefined) return dispatch(surface, call, await asOwnTask(surface, request))
  const isOfAnother = !reachesOwner(call.principal, run.owner)
  if (push !== undefined && !isOfAnother) await surface.pushes!.add(run, push, call)
  return new ReachedTask(surface.runs, run, isOfAnother)
}

async function continueContext(
  surface: Surface,
  call: Call,
  request: SendRequest,
  contextId: string
): Promise<Accepted> {
  const findLast = lastTaskOf(surface, call, contextId)
  const answer = await asAnswer(surface, call, request, findLast)
  return answer === undefined
    ? chooseAndStart(surface, call, request, findLast)
    : dispatch(surface, call, answer)
}

// Awaits nothing that is known at once, as where one agent is exposed and no policy is set.
async function chooseAndStart(
  surface: Surface,
  call: Call,
  request: SendRequest,
  findLast?: FindLast
): Promise<Accepted> {
  const choosing = chooseAgent(surface, call, request, findLast)
  const agent = isPromise(choosing) ? await choosing : choosing
  const allowing = requireMayRun(surface, call, agent)
  if (isPromise(allowing)) await allowing
  requireInputModes(surface, agent, request.message.parts)
  requireOutputModes(surface, agent, request)
  return startTask(surface, call, request, agent)
}

const NEVER = new AbortController().signal

/** Runs actions with the same key one after another. */
async function inTurn<T>(turns: KeyedLock, key: string, act: () => Promise<T>): Promise<T> {
  const locking = turns.lock(key, NEVER)
  const release = isPromise(locking) ? await locking : locking
  try {
    return await act()
  } finally {
    release()
  }
}
