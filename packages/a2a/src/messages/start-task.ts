import {
  codeOf,
  isPromise,
  isTerminalStatus,
  type Awaitable,
  type Envelope,
  type LogEntry,
  type PartType,
  type RunInput,
  type Runnable,
  type RunResult,
  type RunSummary,
  type WhenBusy
} from '@svc/contract'
import { NOTHING_PENDING } from '@svc/contract/stores'
import { LogReader, typeOfEntry, type Run, type RunEngine, type StartOptions } from '@svc/surface'
import type { Message } from '../model/message.ts'
import type { Call, SendRequest } from '../model/requests.ts'
import { repliesByMessage, type Surface } from '../service/surface.ts'
import type { TaskRun } from '../tasks/read-task.ts'
import { requireTask } from '../tasks/task-access.ts'
import { joinedTask, requireRun } from './join-task.ts'
import {
  firstKeyOf,
  isTooOldToRepeat,
  toStartKey,
  withId,
  withoutBytes,
  withoutContent,
  withoutKeys
} from './task-messages.ts'
import { toInput } from './choose-agent.ts'

/** Resolves when a run has ended or waits for its client, always with undefined. @throws RUN_ERR_STORE */
export async function waitUntilSettled(runs: RunEngine, runId: string): Promise<undefined> {
  const reader = new LogReader(runs, runId)
  try {
    for (;;) {
      const reading = reader.read()
      const entries = isPromise(reading) ? await reading : reading
      if (reader.fault !== undefined) throw reader.fault
      if (reader.ended || (entries.some(isRequest) && isSettled(await runs.find(runId)))) return
      if (entries.length === 0) await new Promise<void>((resolve) => reader.onNews(resolve))
    }
  } finally {
    reader.close()
  }
}

const REQUESTS: ReadonlySet<string | undefined> = new Set<PartType>([
  'tool.approval.request',
  'input.request'
])

function isRequest(entry: LogEntry): boolean {
  return REQUESTS.has(typeOfEntry(entry))
}

function isSettled(run: RunSummary | undefined): boolean {
  if (run === undefined || isTerminalStatus(run.status)) return true
  const { approvals, inputs } = run.waiting
  return approvals.count + inputs.count > 0
}

/** The run of an accepted message. */
export interface Accepted {
  /** The record at that time. */
  run: TaskRun
  /** True if the caller may answer what the task asks, but not read it: the reply is its state alone. */
  isOfAnother?: boolean
  /** The messages of a new task. */
  messages?: readonly Message[]
  /** Resolves when the run has ended or waits for its client, with its result if that needs no reading. */
  settled(): Promise<RunResult | undefined>
  /** Stores the task; undefined if it is stored, and no message alone can be the reply. */
  storeTask?: (() => Promise<void>) | undefined
}

/** Starts the run of a message to an agent. @throws what `RunEngine.start` throws, A2A_ERR_TASK_NOT_FOUND */
export async function startTask(
  surface: Surface,
  call: Call,
  request: SendRequest,
  agent: Runnable
): Promise<Accepted> {
  const { message, push } = request
  const { principal, keyed } = call
  const { runs, tasks, exposed } = surface
  const start = exposed.startOptions(agent)
  const accompanying = toEnvelope(surface, call, request)
  const envelope = isPromise(accompanying) ? await accompanying : accompanying
  const asking = new Asking()
  const run = await startOnce(surface, agent, toInput(message.parts, agent), {
    ...start,
    sessionId: message.contextId,
    principal,
    ...keyed,
    envelope,
    whenBusy: readMetadata(request, 'whenBusy') as WhenBusy | undefined,
    afterTurn: readMetadata(request, 'afterTurn') as string | null | undefined,
    startKey: toStartKey(message, surface, call),
    onInputRequest: asking.onRequest
  })
  const { runId, sessionId } = run
  const fromLog = () => waitUntilSettled(runs, runId)
  const first = withId(message)
  if (run.joined) {
    const joined = await joinedTask(surface, call, runId, first)
    if (push !== undefined) await surface.pushes!.add(joined, push, call)
    return { run: joined, settled: fromLog }
  }
  const task = {
    taskId: runId,
    contextId: sessionId,
    registry: start.registry,
    owner: principal.sub,
    agentName: agent.name,
    createdAt: run.createdAt,
    messages: [runs.record.input ? withoutKeys(withoutBytes(first), call) : withoutContent(first)]
  }
  const storeTask = async () => {
    await tasks.create(task, firstKeyOf(runId))
    if (push === undefined || run.replayed) return
    await surface.pushes!.add({ runId, owner: principal.sub, status: 'working' }, push, call, 0)
  }
  const repliesAlone = repliesByMessage(surface, agent)
  // Repeated: the node that started the run may not have stored its task yet.
  if (!repliesAlone) await storeTask()
  if (run.replayed) {
    const isStored = !repliesAlone || (await tasks.get(runId)) !== undefined
    const record = await requireRun(surface, runId)
    return { run: record, settled: fromLog, storeTask: isStored ? undefined : storeTask }
  }
  // The end is known without reading the log; a request for an input has to be read there.
  const settled = () => {
    // It may wait long: the client gets the task as submitted.
    if (run.queued && agent.queue !== true) return Promise.resolve(undefined)
    if (asking.isAsked) return fromLog()
    return new Promise<RunResult | undefined>((resolve) => {
      run.result().then(resolve, () => resolve(undefined))
      asking.onAsked = () => resolve(fromLog())
    })
  }
  return {
    run: toNewRecord(run, agent),
    messages: task.messages,
    settled,
    storeTask: repliesAlone ? storeTask : undefined
  }
}

// Whether a run has asked for an input. It holds nothing of the request: the engine keeps it while the run waits.
class Asking {
  isAsked = false
  onAsked: (() => void) | undefined
  readonly onRequest = () => {
    this.isAsked = true
    this.onAsked?.()
    this.onAsked = undefined
  }
}

// A message that is repeated long after its task has ended begins another one.
async function startOnce(
  surface: Surface,
  agent: Runnable,
  input: RunInput,
  options: StartOptions
): Promise<Run> {
  const { runs } = surface
  for (;;) {
    const run = await runs.start(agent, input, options)
    if (!run.replayed || run.joined) return run
    if (!isTooOldToRepeat(await requireRun(surface, run.runId), surface)) return run
    await runs.stores.runs.freeStartKey(run.runId)
  }
}

// As the agent name: the message's own metadata comes first.
function readMetadata({ message, metadata }: SendRequest, name: string): unknown {
  const own = message.metadata?.[name]
  return own === undefined ? metadata?.[name] : own
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

/** What accompanies a message; undefined if nothing does. Metadata of the message overrides that of the request. */
function toEnvelope(surface: Surface, call: Call, request: SendRequest): Awaitable<Envelope | undefined> {
  const { referenceTaskIds: named = [] } = request.message
  if (named.length === 0) return build(call, request, named)
  return findReferred(surface, call, named).then((found) => build(call, request, found))
}

function build(
  { extensions }: Call,
  { message: { metadata: own }, metadata: around, acceptedOutputModes }: SendRequest,
  referenceTaskIds: readonly string[]
): Envelope | undefined {
  const metadata = around && own ? { ...around, ...own } : (own ?? around)
  const isEmpty = extensions.length === 0 && referenceTaskIds.length === 0
  if (isEmpty && metadata === undefined && acceptedOutputModes === undefined) return undefined
  return {
    ...(metadata && { metadata }),
    ...(extensions.length > 0 && { extensions }),
    ...(acceptedOutputModes && { acceptedOutputModes }),
    ...(referenceTaskIds.length > 0 && { referenceTaskIds })
  }
}

// Tasks are referred to for context alone: those that are gone, or belong to others, are left out.
async function findReferred(surface: Surface, call: Call, named: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const id of new Set(named)) if (await isReadable(surface, call, id)) found.push(id)
  return found
}

async function isReadable(surface: Surface, call: Call, taskId: string): Promise<boolean> {
  try {
    await requireTask(surface, call, taskId)
    return true
  } catch (err) {
    if (codeOf(err) !== 'A2A_ERR_TASK_NOT_FOUND') throw err
    return false
  }
}
