import {
  fileOfAudio,
  RunView,
  type ChangedRunQuery,
  type InputSummary,
  type NumberedPart,
  type PartOf,
  type PartType,
  type RunFile,
  type RunStatus,
  type RunSummary
} from '@svc/contract'
import type { Artifact, MessagePart } from '../model/message.ts'
import type { Outputs } from '../model/requests.ts'
import { toTimestamp, type TaskEvent, type TaskState, type TaskStatus } from '../model/task.ts'
import { errorMessage, promptMessage, promptOf, type InputPrompt } from './agent-messages.ts'
import { answerArtifact, fileArtifact } from './artifacts.ts'
import { ToolArtifacts } from './tool-artifacts.ts'

/** The code of a run that rejects what it was asked. */
const REJECTED = 'RUN_ERR_REJECTED'

/** The state of a run that failed. */
export function failedState(error: { readonly code: string } | null): 'failed' | 'rejected' {
  return error?.code === REJECTED ? 'rejected' : 'failed'
}

/** The state of a run that waits for these inputs: credentials come first, so that no text is taken for one. */
export function waitingState(
  inputs: Iterable<Pick<InputSummary, 'kind'>>
): 'input-required' | 'auth-required' {
  for (const { kind } of inputs) if (kind === 'auth') return 'auth-required'
  return 'input-required'
}

/** The input that a task asks for, of those that its run waits for: credentials, or else the first. */
export function firstToAnswer<I extends Pick<InputSummary, 'kind'>>(inputs: readonly I[]): I | undefined {
  return inputs.find(({ kind }) => kind === 'auth') ?? inputs[0]
}

/** The state of a run, without reading its inputs. */
export function taskStateOf({ status, error, waiting }: Pick<RunSummary, 'status' | 'error' | 'waiting'>) {
  if (status === 'failed') return failedState(error)
  return status === 'input-required' ? waitingState(waiting.inputs.first) : status
}

/** The status of a run whose task has this state. */
function toRunStatus(state: TaskState): RunStatus {
  if (state === 'rejected') return 'failed'
  // Tasks of this service are never unknown.
  return state === 'auth-required' ? 'input-required' : (state as RunStatus)
}

/** Selects the runs whose tasks have a state. */
export function toStateQuery(state: TaskState): Pick<ChangedRunQuery, 'status' | 'errorCode' | 'inputKind'> {
  const status = toRunStatus(state)
  if (status === 'failed')
    return { status, errorCode: state === 'rejected' ? { is: REJECTED } : { isNot: REJECTED } }
  if (status === 'input-required')
    return { status, inputKind: state === 'auth-required' ? { is: 'auth' } : { isNot: 'auth' } }
  return { status }
}

/** The task of the events. */
export interface EventTask {
  taskId: string
  contextId: string
  /** Milliseconds since the epoch. */
  createdAt: number
  /** Null if its run began at once, with its first part. */
  queuedAt: number | null
}

/** The logged part of a type. */
type Logged<T extends PartType> = NumberedPart & PartOf<T>

const NONE: readonly TaskEvent[] = Object.freeze([])

/**
 * Makes the events of a task from the parts of its run, in order. They depend on the log only, so every reader gets the same; the
 * URLs of files begin as the reader reaches the service.
 */
export class TaskEvents {
  readonly #task: EventTask
  readonly #outputs: Outputs
  // Whether the next text begins the answer, continues it, or replaces it: after the turn of a call has ended, or once a new step
  // has made it void.
  #answer: 'none' | 'open' | 'over' | 'void' = 'none'
  // Characters of the answer so far.
  #length = 0
  #structured: unknown = null
  // Undefined if they are not exposed.
  readonly #tools: ToolArtifacts | undefined
  readonly #run = new RunView()
  #last: TaskStatus | undefined

  // The first part of a queued run is its acceptance.
  #isQueued: boolean

  constructor(task: EventTask, outputs: Outputs) {
    this.#task = task
    this.#isQueued = task.queuedAt !== null
    this.#outputs = outputs
    this.#tools = outputs.exposeToolResults ? new ToolArtifacts() : undefined
  }

  /** The last status; undefined before the first. */
  get status(): TaskStatus | undefined {
    return this.#last
  }

  /** The state after the parts so far. */
  get runStatus(): RunStatus {
    return toRunStatus(this.#last?.state ?? 'submitted')
  }

  /** Takes a text if its event is as that of the text before, but for the text; else `add` takes it. */
  continueText({ text, source }: PartOf<'text'>): boolean {
    if (this.#answer !== 'open' || this.#isQueued || source?.length) return false
    this.#length += text.length
    return true
  }

  add(part: NumberedPart): readonly TaskEvent[] {
    this.#run.add(part)
    if (part.type === 'start' && part.queued) this.#isQueued = true
    if (!this.#isQueued) return this.#add(part)
    if (part.type === 'start') return NONE
    this.#isQueued = false
    const isEnd = part.type === 'finish' || part.type === 'error'
    return isEnd ? this.#add(part) : [this.#status({ state: 'working' }, part.at), ...this.#add(part)]
  }

  #add(part: NumberedPart): readonly TaskEvent[] {
    const own = !part.source?.length
    switch (part.type) {
      case 'text':
        return own ? [this.#text(part.text)] : NONE
      case 'start':
        return own ? [this.#status({ state: 'working' }, part.at)] : NONE
      case 'step.start':
        if (own && this.#answer !== 'none') this.#answer = 'void'
        return this.#tools?.begin(part).map((artifact) => this.#artifact(artifact, false, true)) ?? NONE
      case 'structured':
        if (own) this.#structured = part.value ?? null
        return NONE
      case 'tool.call':
        this.#tools?.call(part)
        return NONE
      case 'tool.result':
        return this.#toolResult(part)
      case 'file':
        return this.#file(part)
      case 'voice.audio':
        return this.#file(fileOfAudio(part))
      case 'voice.turn':
        return own ? this.#turn(part.text) : NONE
      case 'tool.approval.request':
      case 'input.request':
        return [this.#ask(promptOf(part), part.at)]
      case 'tool.approval.response':
      case 'input.response': {
        const next = firstToAnswer(this.#pending)
        return [next === undefined ? this.#status({ state: 'working' }, part.at) : this.#ask(next, part.at)]
      }
      case 'error':
        return own ? this.#failed(part) : NONE
      case 'finish':
        this.#tools?.finish(part)
        return own ? this.#finish(part) : NONE
      default:
        return NONE
    }
  }

  #text(text: string): TaskEvent {
    const append = this.#answer === 'open'
    this.#answer = 'open'
    this.#length = text.length + (append ? this.#length : 0)
    return this.#artifact(answerArtifact([{ text }]), append, false)
  }

  // The artifact has the texts of the last step alone.
  #turn(text: string): readonly TaskEvent[] {
    if (this.#answer === 'none' && text === '') return NONE
    const isSame = this.#answer === 'open' && this.#length === text.length
    const events = isSame ? NONE : [this.#artifact(answerArtifact([{ text }]), false, false)]
    this.#answer = 'over'
    this.#length = text.length
    return events
  }

  #ask(prompt: InputPrompt, at: number): TaskEvent {
    const pending = this.#pending
    const message = promptMessage(this.#task, prompt, pending.length === 1)
    return this.#status({ state: waitingState(pending), message }, at)
  }

  get #pending(): InputPrompt[] {
    return Array.from(this.#run.pending.values(), promptOf)
  }

  #failed({ error, at }: Logged<'error'>): readonly TaskEvent[] {
    const status = this.#status({ state: failedState(error), message: errorMessage(this.#task, error) }, at)
    // What an earlier step said is not the answer.
    return this.#answer === 'void'
      ? [this.#artifact(answerArtifact([{ text: '' }]), false, true), status]
      : [status]
  }

  #toolResult(part: PartOf<'tool.result'>): readonly TaskEvent[] {
    const artifact = this.#tools?.result(part)
    return artifact === undefined ? NONE : [this.#artifact(artifact, false, true)]
  }

  #file(part: RunFile): readonly TaskEvent[] {
    const artifact = fileArtifact(part, this.#task.taskId, this.#outputs)
    return artifact === undefined ? NONE : [this.#artifact(artifact, false, true)]
  }

  #finish({ finishReason, at, structured }: Logged<'finish'>): readonly TaskEvent[] {
    const state = finishReason === 'canceled' ? 'canceled' : 'completed'
    const status = this.#status({ state }, at)
    const data = structured ?? this.#structured
    if (this.#answer === 'none' && data === null) return [status]
    // The protocol allows no artifact without parts, so the last chunk of a text is an empty one.
    const last: MessagePart = data === null ? { text: '' } : { data }
    const append = this.#answer === 'open' || this.#answer === 'over'
    return [this.#artifact(answerArtifact([last]), append, true), status]
  }

  // Timestamps come from the log only, so every reader gets the same.
  #status(status: TaskStatus, at: number): TaskEvent {
    const { taskId, contextId } = this.#task
    this.#last = { ...status, timestamp: toTimestamp(at) }
    return { type: 'status', taskId, contextId, status: this.#last }
  }

  #artifact(artifact: Artifact, append: boolean, lastChunk: boolean): TaskEvent {
    const { taskId, contextId } = this.#task
    return { type: 'artifact', taskId, contextId, artifact, append, lastChunk }
  }
}
