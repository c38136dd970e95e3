import {
  defined,
  isTerminalPart,
  unlessAborted,
  type Awaitable,
  type LogEntry,
  type PushConfig,
  type RunLog,
  type RunResult,
  type RunSummary,
  type TaskStore
} from '@svc/contract'
import { sizeOfEntry, type Release } from '@svc/contract/stores'
import { loadResult, LogReader, type Exposed, type RunEngine } from '@svc/surface'
import type { Outputs } from '../model/requests.ts'
import type { Task, TaskEvent } from '../model/task.ts'
import { ANSWER_ID, toAnswer } from '../tasks/artifacts.ts'
import { readTask } from '../tasks/read-task.ts'
import { TaskEvents, type EventTask } from '../tasks/task-events.ts'
import { pushCodecFor } from '../wire/codec-for.ts'
import type { Codec } from '../wire/codec.ts'
import { deliver, pauseAfter, type Delivery, type DeliveryRules } from './deliver.ts'

/**
 * The events of a task that are worth a request each. The answer is one event, at its end; its text is read from the run's
 * record then, and not collected here.
 */
class PushEvents {
  readonly #events: TaskEvents
  // Sizes of what the events retain: open requests, and structured output.
  readonly #held = new Map<string, number>()
  #size = 0

  constructor(task: EventTask, outputs: Outputs) {
    this.#events = new TaskEvents(task, outputs)
  }

  /** Approximate characters of the log so far. */
  get size(): number {
    return this.#size
  }

  /** Approximate characters retained in memory. */
  get heldSize(): number {
    let sum = 0
    for (const size of this.#held.values()) sum += size
    return sum
  }

  add(entry: LogEntry): readonly TaskEvent[] {
    const { part } = entry
    const size = sizeOfEntry(entry)
    this.#size += size
    if (part.type === 'tool.approval.request') this.#held.set(part.approvalId, size)
    else if (part.type === 'tool.approval.response') this.#held.delete(part.approvalId)
    else if (part.type === 'input.request') this.#held.set(part.inputId, size)
    else if (part.type === 'input.response') this.#held.delete(part.inputId)
    else if (part.type === 'structured') this.#held.set('', size)
    return this.#events.add(part).filter((event) => !isAnswer(event) || event.lastChunk)
  }
}

/** True if an event belongs to the answer. */
function isAnswer(event: TaskEvent): event is Extract<TaskEvent, { type: 'artifact' }> {
  return event.type === 'artifact' && event.artifact.artifactId === ANSWER_ID
}

/** Reads what an event leaves out; undefined if the task is gone. */
export interface PushedTask {
  task(): Promise<Task | undefined>
  result(): Promise<RunResult | null | undefined>
}

/** An event in the version of its receiver; undefined if that version has no notification for it. */
async function encodePush(
  event: TaskEvent,
  config: PushConfig,
  codec: Codec,
  task: PushedTask
): Promise<Delivery | undefined> {
  const whole = codec.pushes === 'task' ? await withTask(event, task) : await withAnswer(event, task)
  if (whole === undefined) return undefined
  return {
    url: new URL(config.url),
    headers: {
      'content-type': codec.mediaType ?? 'application/json',
      ...toHeaders(config)
    },
    body: JSON.stringify(codec.encodeEvent(whole))
  }
}

// The status is the event's: the task may have changed again.
async function withTask(event: TaskEvent, source: PushedTask): Promise<TaskEvent | undefined> {
  if (event.type !== 'status') return undefined
  const task = await source.task()
  return task && { type: 'task', task: { ...task, status: event.status } }
}

// The event of an answer has its last piece only.
async function withAnswer(event: TaskEvent, source: PushedTask): Promise<TaskEvent | undefined> {
  if (!isAnswer(event)) return event
  const result = (await source.result()) ?? undefined
  const artifact = result && toAnswer(result)
  return artifact && { ...event, artifact, append: false }
}

function toHeaders({ token, authentication }: PushConfig): Record<string, string> {
  const { schemes, credentials } = (authentication ?? {}) as { schemes?: string[]; credentials?: string }
  const [scheme] = schemes ?? []
  return {
    ...defined({ 'x-a2a-notification-token': token }),
    ...(scheme !== undefined && credentials !== undefined && { authorization: `${scheme} ${credentials}` })
  }
}

/** What readers share. */
export interface PushSource {
  readonly runs: RunEngine
  readonly tasks: TaskStore
  readonly exposed: Pick<Exposed, 'shows'>
  readonly rules: DeliveryRules
  /** @param origin the scheme and host at which the client reaches the service */
  fileUrl(origin: string, taskId: string, fileId: string): string
  readonly exposeToolResults: boolean
  readonly log: RunLog
  /** Limits the readers that read or send at once. */
  readonly readers: Budget
  /** Limits the characters of the requests under way. */
  readonly bodies: Budget
}

/** The weight of a connection, in characters. */
const BODY_WEIGHT = 16_384
/** Characters that a waiting reader keeps in memory; beyond that it reads the log again. */
const MAX_HELD = 16_384
/** A page of many small parts, or of one large part. */
const PAGE = { entries: 512, bytes: 65_536 }

/** What ends a reader early: the milliseconds to wait before it continues, or that it lost its configuration. */
type Stop = number | 'lost'

/**
 * Sends one receiver the events that follow the part `sent`, up to the task's last, and records its progress. While it waits
 * for parts, or for another attempt, it holds no budget and next to no memory.
 */
export class PushReader {
  readonly #source: PushSource
  readonly #taskId: string
  readonly #config: PushConfig
  readonly #codec: Codec
  readonly #outputs: Outputs
  readonly #signal: AbortSignal
  // The last part whose events were all sent, and the number of events sent of the next one.
  #sent: number
  #sentOfNext = 0
  #failures = 0

  constructor(source: PushSource, taskId: string, config: PushConfig, sent: number, signal: AbortSignal) {
    this.#source = source
    this.#taskId = taskId
    this.#config = config
    this.#codec = pushCodecFor(config.version)
    const { origin = '' } = config
    this.#outputs = {
      fileUrl: (task, fileId) => source.fileUrl(origin, task, fileId),
      exposeToolResults: source.exposeToolResults
    }
    this.#sent = sent
    this.#signal = signal
  }

  /**
   * Reads to the end of the task, or until the configuration was removed or is another process's. Returns early, with the milliseconds
   * to wait before the next call, when a delivery failed.
   * @throws the signal's reason when it aborts, and what the stores throw: call it again
   */
  async read(): Promise<number | undefined> {
    const { runs, exposed, readers } = this.#source
    let release = await readers.take(1, this.#signal)
    let reader: LogReader | undefined
    try {
      const run = await runs.find(this.#taskId)
      if (run === undefined || !exposed.shows(run)) return undefined
      const { sessionId, createdAt, queuedAt } = run
      const task = { taskId: run.runId, contextId: sessionId, createdAt, queuedAt }
      let events: PushEvents | undefined
      let seen = 0
      reader = new LogReader(runs, this.#taskId)
      while (!reader.ended) {
        const entries = await reader.read()
        this.#signal.throwIfAborted()
        for (const entry of entries) {
          events ??= await this.#recall(new PushEvents(task, this.#outputs), seen)
          const stop = await this.#sendEntry(entry, events)
          if (stop !== undefined) return stop === 'lost' ? undefined : stop
          seen = entry.seq
        }
        if (entries.length > 0 || reader.ended) continue
        if (events !== undefined && events.heldSize > MAX_HELD) events = undefined
        release()
        await nextParts(reader, this.#signal)
        release = await readers.take(1, this.#signal)
      }
      return undefined
    } finally {
      release()
      reader?.close()
    }
  }

  // Events depend on the whole log.
  async #recall(events: PushEvents, until: number): Promise<PushEvents> {
    const { log } = this.#source.runs.stores
    for (let seq = 0; seq < until;) {
      const entries = await log.read(this.#taskId, seq, PAGE)
      if (entries.length === 0) break
      for (const entry of entries) if (entry.seq <= until) events.add(entry)
      seq = entries.at(-1)!.seq
    }
    return events
  }

  async #sendEntry(entry: LogEntry, events: PushEvents): Promise<Stop | undefined> {
    const { tasks } = this.#source
    const { seq, part } = entry
    const before = events.size
    const all = events.add(entry)
    let isSent = false
    if (seq > this.#sent) {
      for (const event of all.slice(this.#sentOfNext)) {
        const isWhole = this.#codec.pushes === 'task' || isAnswer(event)
        const size = isWhole ? events.size : events.size - before
        const outcome = await this.#send(event, size)
        if (typeof outcome !== 'boolean') return outcome
        isSent ||= outcome
        this.#sentOfNext++
      }
      this.#sent = seq
      this.#sentOfNext = 0
    }
    if (!isSent && !isTerminalPart(part)) return undefined
    const pushed = isTerminalPart(part) ? null : seq
    return (await tasks.recordPush(this.#taskId, this.#config.id, pushed)) ? undefined : 'lost'
  }

  async #withRun<T>(read: (run: RunSummary) => Awaitable<T>): Promise<T | undefined> {
    const run = await this.#source.runs.find(this.#taskId)
    return run && read(run)
  }

  // True if there was something to send, or when to attempt it again. After the last attempt it gives up.
  async #send(event: TaskEvent, size: number): Promise<boolean | Stop> {
    const { runs, tasks, rules, log, bodies } = this.#source
    if (this.#codec.pushes === 'task' && event.type !== 'status') return false
    const release = await bodies.take(BODY_WEIGHT + size, this.#signal)
    try {
      const delivery = await encodePush(event, this.#config, this.#codec, {
        task: () => this.#withRun((run) => readTask(this.#source, run, this.#outputs)),
        result: () => this.#withRun((run) => loadResult(runs.stores, run))
      })
      if (delivery === undefined) return false
      if (!(await tasks.holdsPush(this.#taskId, this.#config.id))) return 'lost'
      const outcome = await deliver(delivery, rules, this.#signal)
      if (outcome === 'taken') {
        this.#failures = 0
        return true
      }
      const attempt = ++this.#failures
      const isOver = outcome === 'refused' || attempt >= (rules.attempts ?? 5)
      log.warn({ host: delivery.url.host, attempt, outcome, isOver }, 'a push notification was not delivered')
      if (!isOver) return pauseAfter(attempt, rules)
      this.#failures = 0
      return true
    } finally {
      release()
    }
  }
}

function nextParts(reader: LogReader, signal: AbortSignal): Promise<void> {
  return unlessAborted(signal, () => new Promise<void>((resolve) => reader.onNews(resolve)))
}

interface Waiter {
  readonly weight: number
  admit(): void
}

/** A weighted semaphore, first come, first served. A share heavier than the total waits for all of it. */
export class Budget {
  readonly #total: number
  #free: number
  #waiting: Waiter[] = []

  constructor(total: number) {
    this.#total = total
    this.#free = total
  }

  /** Resolves with a release once the share is free. @throws the signal's reason if it aborts first */
  take(weight: number, signal: AbortSignal): Promise<Release> {
    const share = Math.min(weight, this.#total)
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error)
      const abandon = () => {
        this.#waiting = this.#waiting.filter((each) => each !== waiter)
        reject(signal.reason as Error)
        this.#admit()
      }
      const waiter: Waiter = {
        weight: share,
        admit: () => {
          signal.removeEventListener('abort', abandon)
          resolve(this.#release(share))
        }
      }
      signal.addEventListener('abort', abandon, { once: true })
      this.#waiting.push(waiter)
      this.#admit()
    })
  }

  #admit(): void {
    for (;;) {
      const next = this.#waiting[0]
      if (next === undefined || next.weight > this.#free) return
      this.#waiting.shift()
      this.#free -= next.weight
      next.admit()
    }
  }

  #release(share: number): Release {
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.#free += share
      this.#admit()
    }
  }
}
