import {
  fileOfAudio,
  type Awaitable,
  type LogEntry,
  type NumberedPart,
  type PartOf,
  type RunFile
} from '@svc/contract'
import type { Message } from '../model/message.ts'
import type { InlineFiles, Outputs } from '../model/requests.ts'
import { toTimestamp, isTerminalState, type Reply, type TaskEvent, type TaskState } from '../model/task.ts'
import { isInline, withBytes } from './artifacts.ts'
import {
  createTaskEvents,
  readSoFar,
  readTask,
  type TaskRun,
  type TaskSource,
  type TaskView
} from './read-task.ts'
import type { TaskEvents } from './task-events.ts'

/** The state of a task, and the projection of what follows in its log. */
export interface TaskStream {
  readonly runId: string
  /** The `seq` of the last part that `first` covers. */
  readonly after: number
  readonly first: TaskEvent
  /** True once no more events follow. */
  readonly ended: boolean
  /** As of `TaskEvents`: most entries are texts, and their events differ in nothing else. */
  continueText(part: PartOf<'text'>): boolean
  /** A promise if a file is read for its event; the next entry comes after it. */
  next(entry: LogEntry): Awaitable<readonly TaskEvent[]>
}

/** The stream of a new task: it begins as submitted. */
export async function openNewStream(
  source: TaskSource,
  run: TaskRun,
  outputs: Outputs,
  messages: readonly Message[],
  view: TaskView,
  endsAt: (state: TaskState) => boolean
): Promise<TaskStream> {
  const { createdAt, queuedAt } = run
  const status = { state: 'submitted', timestamp: toTimestamp(createdAt) } as const
  const submitted = { ...run, status: status.state }
  const task = await readTask(
    source,
    submitted,
    outputs,
    { ...view, includeArtifacts: false },
    { messages, status }
  )
  const events = createTaskEvents(
    { taskId: task.id, contextId: task.contextId, createdAt, queuedAt },
    outputs
  )
  return new LogStream(task.id, 0, { type: 'task', task }, events, outputs, endsAt)
}

/**
 * The stream of a task from now on. Its state and artifacts are those of one position in the log. With `endsIfSettled` it ends
 * with its first event if the task is at one of its end states there.
 */
export async function openStream(
  source: TaskSource,
  run: TaskRun,
  outputs: Outputs,
  view: TaskView,
  endsAt: (state: TaskState) => boolean,
  endsIfSettled = false
): Promise<TaskStream> {
  const { result, events, lastSeq } = await readSoFar(source.runs, run, outputs)
  const known = { result: result.build(), status: events.status ?? { state: 'submitted' as const } }
  const task = await readTask(source, { ...run, status: events.runStatus }, outputs, view, known)
  const first: TaskEvent = { type: 'task', task }
  const stream = new LogStream(run.runId, lastSeq, first, events, outputs, endsAt)
  if (endsIfSettled && endsAt(events.runStatus)) stream.ended = true
  return stream
}

/** The stream of a reply alone. */
export function openReplyStream(runId: string, first: Reply): TaskStream {
  return { runId, after: 0, first, ended: true, continueText: () => false, next: () => [] }
}

class LogStream implements TaskStream {
  readonly runId: string
  readonly after: number
  readonly first: TaskEvent
  ended: boolean
  readonly #events: TaskEvents
  readonly #outputs: Outputs
  readonly #endsAt: (state: TaskState) => boolean

  constructor(
    runId: string,
    after: number,
    first: TaskEvent,
    events: TaskEvents,
    outputs: Outputs,
    endsAt: (state: TaskState) => boolean
  ) {
    this.runId = runId
    this.after = after
    this.first = first
    this.#events = events
    this.#outputs = outputs
    this.#endsAt = endsAt
    this.ended = isTerminalState(events.runStatus)
  }

  continueText(part: PartOf<'text'>): boolean {
    return this.#events.continueText(part)
  }

  next({ part }: LogEntry): Awaitable<readonly TaskEvent[]> {
    const events = this.#events.add(part)
    for (const event of events)
      if (event.type === 'status')
        this.ended = isTerminalState(event.status.state) || this.#endsAt(event.status.state)
    const { inline } = this.#outputs
    if (inline === undefined || events.length === 0) return events
    const file = fileOf(part)
    return file !== undefined && isInline(inline, file) ? this.#withBytes(events, file, inline) : events
  }

  #withBytes(events: readonly TaskEvent[], file: RunFile, inline: InlineFiles): Promise<TaskEvent[]> {
    return Promise.all(
      events.map(async (event) =>
        event.type === 'artifact'
          ? { ...event, artifact: await withBytes(event.artifact, file, this.runId, inline) }
          : event
      )
    )
  }
}

function fileOf(part: NumberedPart): RunFile | undefined {
  if (part.type === 'file') return part
  return part.type === 'voice.audio' ? fileOfAudio(part) : undefined
}
