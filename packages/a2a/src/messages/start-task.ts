import {
  codeOf,
  isPromise,
  isTerminalStatus,
  type Awaitable,
  type Envelope,
  type LogEntry,
  type PartType,
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
async function waitUntilSettled(runs: RunEngine, runId: string): Promise<undefined> {
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
  readonly run: TaskRun
  /** True if the caller may answer what the task asks, but not read it: the reply is its state alone. */
  readonly isOfAnother: boolean
  /** The messages of a new task. */
  readonly messages: readonly Message[] | undefined
  /** True while the task is not stored, since a message alone may be the reply. */
  readonly mayReplyAlone: boolean
  /** Resolves when the run has ended or waits for its client, with its result if that needs no reading. */
  settled(): Promise<RunResult | undefined>
  /** Stores the task, if no message alone was the reply. */
  store(): Awaitable<void>
}

/** A task that a message has reached, which began before. */
export class ReachedTask implements Accepted {
  readonly run: RunSummary
  readonly isOfAnother: boolean
  readonly messages = undefined
  readonly mayReplyAlone = false
  readonly #runs: RunEngine

  constructor(runs: RunEngine, run: RunSummary, isOfAnother = false) {
    this.run = run
    this.isOfAnother = isOfAnother
    this.#runs = runs
  }

  settled(): Promise<undefined> {
    return waitUntilSettled(this.#runs, this.run.runId)
  }

  store(): void {}
}

/** The task of a message that starts a run, or has started it before. */
class StartedTask implements Accepted {
  run: TaskRun
  readonly isOfAnother = false
  messages: readonly Message[] | undefined
  mayReplyAlone: boolean
  readonly #surface: Surface
  readonly #call: Call
  // What the task keeps of the message.
  readonly #kept: readonly Message[]
  readonly #push: SendRequest['push']
  readonly #agent: Runnable
  readonly #started: Run
  readonly #asking: Asking

  constructor(
    surface: Surface,
    call: Call,
    { message, push }: SendRequest,
    agent: Runnable,
    started: Run,
    asking: Asking
  ) {
    const first = withId(message)
    const { record } = surface.runs
    this.run = toNewRecord(started, agent)
    this.#kept = [record.input ? withoutKeys(withoutBytes(first), call) : withoutContent(first)]
    this.messages = this.#kept
    this.mayReplyAlone = repliesByMessage(surface, agent)
    this.#surface = surface
    this.#call = call
    this.#push = push
    this.#agent = agent
    this.#started = started
    this.#asking = asking
  }

  /** A repetition has found the task as it is now. */
  repeats(run: TaskRun, isStored: boolean): this {
    this.run = run
    this.messages = undefined
    this.mayReplyAlone = !isStored
    return this
  }

  settled(): Promise<RunResult | undefined> {
    const { replayed, queued } = this.#started
    if (replayed) return this.#readLog()
    // It may wait long: the client gets the task as submitted.
    if (queued && this.#agent.queue !== true) return Promise.resolve(undefined)
    // The end is known without reading the log; a request for an input has to be read there.
    if (this.#asking.isAsked) return this.#readLog()
    return new Promise((resolve) => {
      this.#started.result().then(resolve, () => resolve(undefined))
      // A function literal that is assigned to a property is old at once: V8 would keep all that it refers to until a full collection.
      const onAsked = () => resolve(this.#readLog())
      this.#asking.onAsked = onAsked
    })
  }

  store(): Awaitable<void> {
    const { runId: taskId, sessionId: contextId, createdAt } = this.#started
    const { tasks, exposed } = this.#surface
    const { name: agentName } = this.#agent
    const { sub: owner } = this.#call.principal
    const { registry } = exposed.startOptions(this.#agent)
    const task = { taskId, contextId, registry, owner, agentName, createdAt, messages: this.#kept }
    const created = tasks.create(task, firstKeyOf(taskId))
    if (this.#push !== undefined && !this.#started.replayed) return this.#notify(this.#push, created)
    return isPromise(created) ? created.then(() => {}) : undefined
  }

  async #notify(push: NonNullable<SendRequest['push']>, created: Awaitable<string>): Promise<void> {
    await created
    const { principal } = this.#call
    const run = { runId: this.#started.runId, owner: principal.sub, status: 'working' } as const
    await this.#surface.pushes!.add(run, push, this.#call, 0)
  }

  #readLog(): Promise<undefined> {
    return waitUntilSettled(this.#surface.runs, this.#started.runId)
  }
}

/** Starts the run of a message to an agent. @throws what `RunEngine.start` throws, A2A_ERR_TASK_NOT_FOUND */
export async function startTask(
  surface: Surface,
  call: Call,
  request: SendRequest,
  agent: Runnable
): Promise<Accepted> {
  const { message, push } = request
  const { runs, exposed } = surface
  const accompanying = toEnvelope(surface, call, request)
  const envelope = isPromise(accompanying) ? await accompanying : accompanying
  const asking = new Asking()
  const options: StartOptions = {
    ...exposed.startOptions(agent),
    sessionId: message.contextId,
    principal: call.principal,
    ...call.keyed,
    envelope,
    whenBusy: readMetadata(request, 'whenBusy') as WhenBusy | undefined,
    afterTurn: readMetadata(request, 'afterTurn') as string | null | undefined,
    startKey: toStartKey(message, surface, call),
    onInputRequest: asking.onRequest
  }
  const input = toInput(message.parts, agent)
  let run = await runs.start(agent, input, options)
  // A message that is repeated long after its task has ended begins another one.
  while (run.replayed && !run.joined && isTooOldToRepeat(await requireRun(surface, run.runId), surface)) {
    await runs.stores.runs.freeStartKey(run.runId)
    run = await runs.start(agent, input, options)
  }
  const { runId } = run
  if (run.joined) {
    const joined = await joinedTask(surface, call, runId, withId(message))
    if (push !== undefined) await surface.pushes!.add(joined, push, call)
    return new ReachedTask(runs, joined)
  }
  const task = new StartedTask(surface, call, request, agent, run, asking)
  if (!task.mayReplyAlone) {
    const storing = task.store()
    if (isPromise(storing)) await storing
  }
  if (!run.replayed) return task
  // The node that started the run may not have stored its task yet.
  const isStored = !task.mayReplyAlone || (await surface.tasks.get(runId)) !== undefined
  return task.repeats(await requireRun(surface, runId), isStored)
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

// As the agent name: the message's own metadata comes first.
function readMetadata({ message, metadata }: SendRequest, name: string): unknown {
  const own = message.metadata?.[name]
  return own === undefined ? metadata?.[name] : own
}

const NOTHING_WAITS = Object.freeze({ approvals: NOTHING_PENDING, inputs: NOTHING_PENDING })

// The record that the engine has just stored: the run has started, or waits in the queue.
function toNewRecord({ runId, sessionId, createdAt, queued }: Run, { name, queue }: Runnable): TaskRun {
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
    waiting: NOTHING_WAITS,
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
