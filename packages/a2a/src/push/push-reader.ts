import {
  isTerminalPart,
  loadResult,
  LogReader,
  type Exposed,
  type LogEntry,
  type PushConfig,
  type RunEngine,
  type RunLog,
  type RunSummary,
  type TaskStore
} from '@svc/registry'
import type { TaskEvent } from '../model/task.ts'
import { readTask } from '../tasks/read-task.ts'
import { pushCodecFor } from '../wire/codec-for.ts'
import type { Codec } from '../wire/codec.ts'
import type { Budget } from './budget.ts'
import { deliver, pauseAfter, type DeliveryRules } from './deliver.ts'
import { encodePush } from './encode-push.ts'
import { isAnswer, PushEvents } from './push-events.ts'

/** What is told, where it is recorded, how hard it is tried, and how much of it at once. */
export interface PushSource {
  readonly runs: RunEngine
  readonly tasks: TaskStore
  readonly exposed: Pick<Exposed, 'shows'>
  readonly rules: DeliveryRules
  readonly log: RunLog
  /** How many read or send. */
  readonly readers: Budget
  /** Characters of what is being sent. */
  readonly bodies: Budget
}

/** What a notification takes besides its text: a connection. */
const BODY_WEIGHT = 16_384
/** Of a reader that waits for news, characters of events that stay in memory: larger ones are read again. */
const MAX_HELD = 16_384
/** Many small parts, or a large one, at a time. */
const PAGE = { entries: 512, bytes: 65_536 }

/**
 * Tells one receiver what comes after the part `told`, until the task's last event, and records how far it came. While it
 * waits, for news or until it tries again, it takes up no room and next to no memory.
 */
export class PushReader {
  readonly #source: PushSource
  readonly #taskId: string
  readonly #config: PushConfig
  readonly #codec: Codec
  readonly #signal: AbortSignal
  // The part up to which everything was told, and how many events of the next one.
  #told: number
  #sent = 0
  #failures = 0

  constructor(source: PushSource, taskId: string, config: PushConfig, told: number, signal: AbortSignal) {
    this.#source = source
    this.#taskId = taskId
    this.#config = config
    this.#codec = pushCodecFor(config.version)
    this.#told = told
    this.#signal = signal
  }

  /**
   * Reads until there is no more to tell; or gives the milliseconds after which to go on, when the receiver did not take
   * what it was told. @throws the signal's reason when it aborts, and what the stores throw: call it again
   */
  async tell(): Promise<number | undefined> {
    const { runs, exposed, readers } = this.#source
    let release = await readers.take(1, this.#signal)
    let reader: LogReader | undefined
    try {
      const run = await runs.find(this.#taskId)
      if (run === undefined || !exposed.shows(run)) return undefined
      const task = { taskId: run.runId, contextId: run.sessionId, createdAt: run.createdAt }
      let events: PushEvents | undefined
      let seen = 0
      reader = new LogReader(runs, this.#taskId)
      while (!reader.ended) {
        const entries = await reader.read()
        this.#signal.throwIfAborted()
        for (const entry of entries) {
          events ??= await this.#recall(new PushEvents(task), seen)
          const pause = await this.#tellEntry(entry, events)
          if (pause !== undefined) return pause
          seen = entry.seq
        }
        if (entries.length > 0 || reader.ended) continue
        if (events !== undefined && events.heldSize > MAX_HELD) events = undefined
        release()
        await news(reader, this.#signal)
        release = await readers.take(1, this.#signal)
      }
      return undefined
    } finally {
      release()
      reader?.close()
    }
  }

  // Events follow from the whole log.
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

  async #tellEntry(entry: LogEntry, events: PushEvents): Promise<number | undefined> {
    const { tasks } = this.#source
    const { seq, part } = entry
    const before = events.size
    const all = events.add(entry)
    let isTold = false
    if (seq > this.#told) {
      for (const event of all.slice(this.#sent)) {
        const isWhole = this.#codec.pushes === 'task' || isAnswer(event)
        const size = isWhole ? events.size : events.size - before
        const outcome = await this.#send(event, size)
        if (typeof outcome === 'number') return outcome
        isTold ||= outcome
        this.#sent++
      }
      this.#told = seq
      this.#sent = 0
    }
    if (isTerminalPart(part)) await tasks.recordPush(this.#taskId, this.#config.id, null)
    else if (isTold) await tasks.recordPush(this.#taskId, this.#config.id, seq)
    return undefined
  }

  async #read<T>(read: (run: RunSummary) => Promise<T>): Promise<T | undefined> {
    const run = await this.#source.runs.find(this.#taskId)
    return run && read(run)
  }

  // Whether there was something to tell, or when to try again; what is not taken in the end is given up.
  async #send(event: TaskEvent, size: number): Promise<boolean | number> {
    const { runs, rules, log, bodies } = this.#source
    if (this.#codec.pushes === 'task' && event.type !== 'status') return false
    const release = await bodies.take(BODY_WEIGHT + size, this.#signal)
    try {
      const delivery = await encodePush(event, this.#config, this.#codec, {
        task: () => this.#read((run) => readTask(this.#source, run)),
        result: () => this.#read((run) => loadResult(runs.stores, run))
      })
      if (delivery === undefined) return false
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

async function news(reader: LogReader, signal: AbortSignal): Promise<void> {
  let stop: (() => void) | undefined
  try {
    await new Promise<void>((resolve, reject) => {
      stop = () => reject(signal.reason as Error)
      signal.addEventListener('abort', stop, { once: true })
      reader.onNews(resolve)
      if (signal.aborted) stop()
    })
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop)
  }
}
