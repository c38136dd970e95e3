import {
  RUN_ERR_KEY_REUSED,
  type Envelope,
  type Run,
  type Runnable,
  type RunResult,
  type StoredTask,
  type WhenBusy
} from '@svc/registry'
import { isPromise } from '@svc/registry/kit'
import { NOTHING_PENDING, type KeyedLock } from '@svc/registry/store-kit'
import type { Message } from '../model/message.ts'
import type { Call, SendRequest } from '../model/requests.ts'
import { requireExtensions } from '../service/extensions.ts'
import { requirePushes, type Surface } from '../service/surface.ts'
import { readMessages, type TaskRun } from '../tasks/read-task.ts'
import { answerTask } from './answer-task.ts'
import { chooseAgent, requireMayRun } from './choose-agent.ts'
import { joinedTask, requireRun } from './join-task.ts'
import { toStartKey, withId } from './start-key.ts'
import { toInput } from './to-input.ts'
import { waitUntilSettled } from './wait-until-settled.ts'
import { withoutBytes } from './without-bytes.ts'

/** The task of an accepted message. */
export interface Accepted {
  /** The record at that time. */
  run: TaskRun
  /** The messages of a new task. */
  messages?: readonly Message[]
  /** Resolves when the task has ended or waits for its client, with its result if that needs no reading. */
  settled(): Promise<RunResult | undefined>
}

/**
 * Starts a task for a message, or passes it to the task that it names. The same message of the same owner is accepted once.
 * @throws what `answerTask`, `chooseAgent` and `RunEngine.start` throw, A2A_ERR_EXTENSION_REQUIRED, A2A_ERR_FORBIDDEN,
 * A2A_ERR_NO_PUSH
 */
export async function acceptMessage(surface: Surface, call: Call, request: SendRequest): Promise<Accepted> {
  const { push, message } = request
  requireExtensions(surface.extensions, call.extensions)
  if (push !== undefined) await requirePushes(surface).check(push.url, call.principal.sub)
  const key =
    message.messageId === undefined ? undefined : `message ${call.principal.sub} ${message.messageId}`
  return inTurn(surface.turns, key, () => dispatch(surface, call, request))
}

async function dispatch(surface: Surface, call: Call, request: SendRequest): Promise<Accepted> {
  const { push, message } = request
  const { taskId } = message
  if (taskId !== undefined) {
    const run = await inTurn(surface.turns, `task ${taskId}`, () => answerTask(surface, call, request))
    if (run === undefined) return dispatch(surface, call, await asOwnTask(surface, request, taskId))
    if (push !== undefined) await surface.pushes!.add(run, push, call)
    return { run, settled: () => waitUntilSettled(surface.runs, run.runId) }
  }
  const agent = await chooseAgent(surface, call, request)
  await requireMayRun(surface, call, agent)
  return startTask(surface, call, request, agent)
}

async function startTask(
  surface: Surface,
  call: Call,
  request: SendRequest,
  agent: Runnable
): Promise<Accepted> {
  const { message, push } = request
  const { principal, log } = call
  const { runs, tasks, exposed } = surface
  const start = exposed.startOptions(agent)
  const earlier = await requireFreshId(surface, start.registry, principal.sub, message)
  let isAsked = false
  let onAsked: (() => void) | undefined
  const run = await runs.start(agent, toInput(message.parts, agent), {
    ...start,
    sessionId: message.contextId,
    principal,
    log,
    envelope: toEnvelope(call, request),
    whenBusy: readMetadata(request, 'whenBusy') as WhenBusy | undefined,
    afterTurn: readMetadata(request, 'afterTurn') as string | null | undefined,
    startKey: toStartKey(message, surface),
    onInputRequest() {
      isAsked = true
      onAsked?.()
    }
  })
  const { runId, sessionId } = run
  const fromLog = () => waitUntilSettled(runs, runId)
  if (run.joined) {
    const joined = await joinedTask(surface, runId, withId(message))
    if (push !== undefined) await surface.pushes!.add(joined, push, call)
    return { run: joined, settled: fromLog }
  }
  const replayed = run.replayed ? await requireRun(surface, runId) : undefined
  if (replayed !== undefined && earlier !== undefined) return { run: replayed, settled: fromLog }
  const first = withId(message)
  const task = {
    taskId: runId,
    contextId: sessionId,
    registry: start.registry,
    owner: principal.sub,
    agentName: agent.name,
    createdAt: run.createdAt,
    messages: [runs.record.input ? withoutBytes(first) : withoutContent(first)]
  }
  const kept = await tasks.create(task, first.messageId)
  // The node that started the run had not stored its task yet.
  if (replayed !== undefined) return { run: replayed, settled: fromLog }
  if (kept !== runId) await requireStillFresh(surface, run, task, message)
  const { owner } = task
  if (push !== undefined) await surface.pushes!.add({ runId, owner, status: 'working' }, push, call, 0)
  // The end is known without reading the log; a request for an input has to be read there.
  const settled = () => {
    // It may wait long: the client gets the task as submitted.
    if (run.queued && agent.queue !== true) return Promise.resolve(undefined)
    if (isAsked) return fromLog()
    return new Promise<RunResult | undefined>((resolve) => {
      run.result().then(resolve, () => resolve(undefined))
      onAsked = () => resolve(fromLog())
    })
  }
  return { run: toNewRecord(run, agent), messages: task.messages, settled }
}

// The task reads no more messages: this one begins a task of its own, after it.
async function asOwnTask(surface: Surface, request: SendRequest, taskId: string): Promise<SendRequest> {
  const { name, sessionId: contextId } = await requireRun(surface, taskId)
  const { taskId: _, ...message } = request.message
  const metadata = { ...message.metadata, agentName: name, whenBusy: 'queue' }
  return { ...request, message: { ...message, contextId, metadata } }
}

// As the agent name: the message's own metadata comes first.
function readMetadata({ message, metadata }: SendRequest, name: string): unknown {
  const own = message.metadata?.[name]
  return own === undefined ? metadata?.[name] : own
}

// Its id stays, so that it is accepted once; histories leave it out.
function withoutContent({ messageId, role }: Message): Message {
  return { messageId, role, parts: [] }
}

// The record that the engine has just stored: the run has started, or waits in the queue.
function toNewRecord({ runId, sessionId, createdAt, queued }: Run, { name, queue }: Runnable): TaskRun {
  const waiting = { approvals: NOTHING_PENDING, inputs: NOTHING_PENDING }
  const isQueued = queue === true
  return {
    runId,
    sessionId,
    name,
    status: isQueued || queued ? 'submitted' : 'working',
    createdAt,
    queuedAt: isQueued ? createdAt : null,
    updatedAt: createdAt,
    error: null,
    waiting,
    bytes: 0
  }
}

// The task that the message started, if it is known. A message that followed up on a task cannot start another one.
async function requireFreshId(
  surface: Surface,
  registry: string,
  owner: string,
  { messageId }: SendRequest['message']
): Promise<string | undefined> {
  if (messageId === undefined) return undefined
  const finding = surface.tasks.taskOfMessage(registry, owner, messageId)
  const taskId = isPromise(finding) ? await finding : finding
  if (taskId === undefined) return undefined
  const messages = await readMessages(surface, taskId)
  const found = messages.find((each) => each.messageId === messageId)
  if (messages.length > 0 && (found === undefined || found.taskId !== undefined))
    throw new RUN_ERR_KEY_REUSED()
  return taskId
}

// Another node may have added the message to a task meanwhile.
async function requireStillFresh(
  surface: Surface,
  run: Run,
  { registry, owner }: Pick<StoredTask, 'registry' | 'owner'>,
  message: SendRequest['message']
): Promise<void> {
  try {
    await requireFreshId(surface, registry, owner, message)
  } catch (err) {
    await run.cancel()
    throw err
  }
}

// Metadata of the message overrides that of the request.
function toEnvelope({ extensions }: Call, { message, metadata: around }: SendRequest): Envelope | undefined {
  const metadata =
    around && message.metadata ? { ...around, ...message.metadata } : (message.metadata ?? around)
  if (metadata === undefined && extensions.length === 0) return undefined
  return { ...(metadata && { metadata }), ...(extensions.length > 0 && { extensions }) }
}

const NEVER = new AbortController().signal

/** Runs actions with the same key one after another; without a key, at once. */
async function inTurn<T>(turns: KeyedLock, key: string | undefined, act: () => Promise<T>): Promise<T> {
  if (key === undefined) return act()
  const release = await turns.lock(key, NEVER)
  try {
    return await act()
  } finally {
    release()
  }
}
