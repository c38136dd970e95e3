import {
  codeOf,
  createPause,
  isPromise,
  isTerminalStatus,
  RunResultBuilder,
  type Awaitable,
  type NumberedPart,
  type PartOf,
  type RunResult,
  type RunSummary,
  type StoredTask,
  type TaskStore
} from '@svc/contract'
import { loadResult, type RunEngine } from '@svc/surface'
import type { Message, MessagePart } from '../model/message.ts'
import type { Outputs } from '../model/requests.ts'
import { toTimestamp, type Task, type TaskEvent, type TaskStatus } from '../model/task.ts'
import { answerMessage, errorMessage, promptMessage, readPrompt } from './agent-messages.ts'
import {
  ANSWER_ID,
  isJsonOf,
  tailorAnswer,
  tailorArtifacts,
  takesData,
  takesText,
  toArtifacts
} from './artifacts.ts'
import { failedState, firstToAnswer, TaskEvents, waitingState, type EventTask } from './task-events.ts'

type ArtifactEvent = Extract<TaskEvent, { type: 'artifact' }>

/** The events of a task for a client, of the media types that it accepts. */
export function createTaskEvents(task: EventTask, outputs: Outputs): TaskEvents {
  return outputs.accepted === undefined
    ? new TaskEvents(task, outputs)
    : new TailoredEvents(task, outputs, outputs.accepted)
}

/**
 * Leaves out what the client does not take. A text that it does not take is kept until the end shows whether there is anything
 * else.
 */
class TailoredEvents extends TaskEvents {
  readonly #accepted: readonly string[]
  // Of the answer so far, where its end depends on it.
  #text = ''
  #hasOthers = false

  constructor(task: EventTask, outputs: Outputs, accepted: readonly string[]) {
    super(task, outputs)
    this.#accepted = accepted
  }

  override continueText(part: PartOf<'text'>): boolean {
    return takesText(this.#accepted) && takesData(this.#accepted) && super.continueText(part)
  }

  override add(part: NumberedPart): readonly TaskEvent[] {
    return super.add(part).flatMap((event) => (event.type === 'artifact' ? this.#tailor(event) : event))
  }

  #tailor(event: ArtifactEvent): TaskEvent[] {
    const accepted = this.#accepted
    if (event.artifact.artifactId === ANSWER_ID) return this.#answer(event)
    const [artifact] = tailorArtifacts([event.artifact], accepted)
    if (artifact === undefined) return []
    this.#hasOthers = true
    return [{ ...event, artifact }]
  }

  #answer(event: ArtifactEvent): TaskEvent[] {
    const accepted = this.#accepted
    const { append, lastChunk, artifact } = event
    const [part] = artifact.parts
    const text = part !== undefined && 'text' in part ? part.text : ''
    const structured = part !== undefined && 'data' in part ? part.data : null
    if (!takesText(accepted) || !takesData(accepted)) this.#text = append ? this.#text + text : text
    if (takesText(accepted)) {
      if (structured === null || takesData(accepted)) return [event]
      return [
        withParts(event, [{ text: isJsonOf(this.#text, structured) ? '' : JSON.stringify(structured) }])
      ]
    }
    if (!lastChunk) return []
    const parts = tailorAnswer({ text: this.#text, structured }, accepted, !this.#hasOthers)
    return parts.length === 0 ? [] : [withParts({ ...event, append: false }, parts)]
  }
}

function withParts(event: ArtifactEvent, parts: MessagePart[]): ArtifactEvent {
  return { ...event, artifact: { ...event.artifact, parts } }
}

/** Where tasks are read from. */
export interface TaskSource {
  readonly runs: RunEngine
  readonly tasks: TaskStore
}

/** The record of a task's run. */
export type TaskRun = Pick<
  RunSummary,
  | 'runId'
  | 'sessionId'
  | 'name'
  | 'status'
  | 'createdAt'
  | 'queuedAt'
  | 'updatedAt'
  | 'error'
  | 'waiting'
  | 'bytes'
>

/** How much of a task to read. */
export interface TaskView {
  /** The newest messages to include; default all. */
  historyLength?: number | undefined
  /** Default true. */
  includeArtifacts?: boolean | undefined
  /** True to include what is large: long arguments, and the output of a large run; default true. */
  isWhole?: boolean | undefined
}

/** What the caller knows already and need not be read. */
export interface KnownTask {
  /** The clients' messages. */
  messages?: readonly Message[] | undefined
  result?: RunResult | undefined
  status?: TaskStatus | undefined
}

/** The log of a run, folded as far as it is written. */
interface SoFar {
  result: RunResultBuilder
  events: TaskEvents
  /** The `seq` of its last part. */
  lastSeq: number
}

/** Bytes of a run whose output is included when large ones are left out. */
const MAX_LISTED = 524_288

/** A page of many small parts, or of one large part. */
const PAGE = { entries: 512, bytes: 65_536 }

/** Reads a run as a task. */
export async function readTask(
  source: TaskSource,
  run: TaskRun,
  outputs: Outputs,
  { historyLength, includeArtifacts = true, isWhole = true }: TaskView = {},
  known: KnownTask = {}
): Promise<Task> {
  const { runs } = source
  const hasHistory = historyLength !== 0
  const isNeeded = includeArtifacts || (hasHistory && run.status === 'completed')
  const isTruncated = isNeeded && !isWhole && run.bytes > MAX_LISTED
  const result = known.result ?? (isNeeded && !isTruncated ? await readResult(runs, run, outputs) : undefined)
  const messages = known.messages ?? (hasHistory ? await readMessages(source, run.runId) : NO_MESSAGES)
  const status = known.status ?? readStatus(runs, run, isWhole)
  const task: Task = {
    id: run.runId,
    contextId: run.sessionId,
    status: isPromise(status) ? await status : status,
    metadata: isTruncated ? { agentName: run.name, truncated: true } : { agentName: run.name }
  }
  if (hasHistory) {
    const answer = takesText(outputs.accepted) ? (result?.text ?? '') : ''
    const history = readHistory(runs, run, { messages, answer, limit: historyLength, isWhole })
    task.history = isPromise(history) ? await history : history
  }
  if (includeArtifacts && result !== undefined) {
    const artifacts = toArtifacts(result, run.runId, outputs, isWhole ? outputs.inline : undefined)
    task.artifacts = isPromise(artifacts) ? await artifacts : artifacts
  }
  return task
}

const NO_MESSAGES: readonly Message[] = Object.freeze([])

/** The clients' messages of a task; none if another surface started it. */
async function readMessages({ tasks }: Pick<TaskSource, 'tasks'>, taskId: string): Promise<Message[]> {
  const stored: StoredTask | undefined = await tasks.get(taskId)
  return (stored?.messages ?? []) as Message[]
}

export async function readSoFar(
  { stores }: RunEngine,
  run: Pick<TaskRun, 'runId' | 'sessionId' | 'createdAt' | 'queuedAt'>,
  outputs: Outputs
): Promise<SoFar> {
  const { runId, sessionId, createdAt, queuedAt } = run
  const events = createTaskEvents({ taskId: runId, contextId: sessionId, createdAt, queuedAt }, outputs)
  const result = new RunResultBuilder()
  const pause = createPause()
  let lastSeq = 0
  for (;;) {
    const entries = await stores.log.read(runId, lastSeq, PAGE)
    if (entries.length === 0) return { result, events, lastSeq }
    for (const { part } of entries) {
      result.add(part)
      events.add(part)
    }
    lastSeq = entries.at(-1)!.seq
    await pause()
  }
}

// Undefined if the log is damaged: the list it is in may have other tasks.
async function readResult(runs: RunEngine, run: TaskRun, outputs: Outputs): Promise<RunResult | undefined> {
  try {
    const whole = isTerminalStatus(run.status) ? await loadResult(runs.stores, run) : null
    return whole ?? (await readSoFar(runs, run, outputs)).result.build()
  } catch (err) {
    if (codeOf(err) !== 'RUN_ERR_DAMAGED') throw err
    return undefined
  }
}

function readStatus(runs: RunEngine, run: TaskRun, isWhole: boolean): Awaitable<TaskStatus> {
  const { status: state, error } = run
  if (state === 'input-required') return readWaiting(runs, run, isWhole)
  const timestamp = toTimestamp(run.updatedAt)
  if (state !== 'failed' || error === null) return { state, timestamp }
  const task = { taskId: run.runId, contextId: run.sessionId }
  return { state: failedState(error), timestamp, message: errorMessage(task, error) }
}

async function readWaiting(runs: RunEngine, run: TaskRun, isWhole: boolean): Promise<TaskStatus> {
  const timestamp = toTimestamp(run.updatedAt)
  const { approvals, inputs } = run.waiting
  const pending = [...approvals.first, ...inputs.first]
  const first = firstToAnswer(pending.toSorted((a, b) => a.expiresAt - b.expiresAt))
  if (first === undefined) return { state: 'working', timestamp }
  const prompt = await readPrompt(runs, first, isWhole)
  const isOnly = approvals.count + inputs.count === 1
  const task = { taskId: run.runId, contextId: run.sessionId }
  return { state: waitingState([first]), timestamp, message: promptMessage(task, prompt, isOnly) }
}

/** The messages of a task, and how much of its history to return. */
interface HistorySource {
  messages: readonly Message[]
  /** The final answer of the agent. */
  answer: string
  /** The newest messages to return; default all. */
  limit?: number | undefined
  /** True to include long arguments. */
  isWhole: boolean
}

/** The messages of a task, oldest first. A pending request is in its status, not in its history. */
function readHistory(runs: RunEngine, run: TaskRun, source: HistorySource): Awaitable<Message[]> {
  const { messages, answer, limit = Number.POSITIVE_INFINITY } = source
  const task = { taskId: run.runId, contextId: run.sessionId }
  const last = run.status === 'completed' && answer !== '' ? answerMessage(task, answer) : undefined
  const [first, another] = messages
  // The first message to a run of another surface is an answer already.
  if (another !== undefined || first?.taskId !== undefined) return readAnswered(runs, task, last, source)
  const history: Message[] = []
  if (first !== undefined && first.parts.length > 0) history.push({ ...first, ...task })
  if (last !== undefined) history.push(last)
  return history.length > limit ? history.slice(-limit) : history
}

// With what was asked before each answer.
async function readAnswered(
  runs: RunEngine,
  task: { readonly taskId: string; readonly contextId: string },
  last: Message | undefined,
  { messages, limit = Number.POSITIVE_INFINITY, isWhole }: HistorySource
): Promise<Message[]> {
  const newest: Message[] = last === undefined ? [] : [last]
  const first = messages[0]?.taskId === undefined ? 1 : 0
  for (let index = messages.length - 1; index >= 0 && newest.length < limit; index--) {
    const message = messages[index]!
    // The content of a message is not stored if the engine records no inputs.
    if (message.parts.length > 0) newest.push({ ...message, ...task })
    if (index < first || newest.length >= limit) continue
    const found = await runs.findInput(`${task.taskId}.${index - first + 1}`)
    if (found !== undefined) newest.push(promptMessage(task, await readPrompt(runs, found.input, isWhole)))
  }
  return newest.slice(0, limit).toReversed()
}
