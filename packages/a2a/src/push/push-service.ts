import { randomUUID } from 'node:crypto'
import {
  isTerminalStatus,
  KeyedLock,
  readEntries,
  toLoggable,
  type PushConfig,
  type RunEngine,
  type RunLog,
  type StoredRun,
  type TaskStore
} from '@svc/registry'
import { A2A_ERR_TASK_NOT_FOUND, A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { ProtocolVersion } from '../model/agent-card.ts'
import type { TaskPushConfig } from '../model/push-config.ts'
import type { TaskEvent } from '../model/task-event.ts'
import type { Call } from '../surface.ts'
import { readSoFar, readTask } from '../tasks/read-task.ts'
import { TaskEvents } from '../tasks/task-events.ts'
import { badParams } from '../wire/decode-params.ts'
import { deliver, type DeliveryRules } from './deliver.ts'
import { encodePush } from './encode-push.ts'
import { PushEvents } from './push-events.ts'
import { requirePublicTarget, requireUrl, UnsafeTargetError } from './safe-target.ts'

/** Configurations that one task may have. */
const MAX_CONFIGS = 10

/** What a client says of where to push to. */
type GivenConfig = Omit<TaskPushConfig, 'taskId' | 'id'> & { id?: string }

/**
 * Pushes the changes of tasks to where their clients asked for. Each configuration has a reader of its own, at its own pace:
 * its notifications come in order, and a receiver that is away holds up nobody else.
 */
export class PushService {
  readonly #runs: RunEngine
  readonly #tasks: TaskStore
  readonly #rules: DeliveryRules
  readonly #log: RunLog
  readonly #readers = new Map<string, AbortController>()
  // Of each task one is added at a time, or they could be more than are allowed.
  readonly #adding = new KeyedLock()
  readonly #closing = new AbortController()

  constructor(runs: RunEngine, tasks: TaskStore, rules: DeliveryRules, log: RunLog) {
    this.#runs = runs
    this.#tasks = tasks
    this.#rules = rules
    this.#log = log
  }

  /** Makes sure that something may be sent to a URL, as far as is known now. @throws A2A_ERR_BAD_PARAMS */
  async check(text: string): Promise<void> {
    const url = requireUrl(text, 'url')
    try {
      await requirePublicTarget(url, this.#rules)
    } catch (err) {
      // A name that cannot be resolved now is looked up again for each notification.
      if (err instanceof UnsafeTargetError) throw badParams('url', err.message)
    }
  }

  /** Keeps a configuration and begins to push: what comes after `after`, by default what comes from now on. */
  async add(call: Call, run: StoredRun, given: GivenConfig, after?: number): Promise<TaskPushConfig> {
    const { runId: taskId } = run
    const config: PushConfig = { ...given, id: given.id ?? randomUUID(), version: call.version }
    const release = await this.#adding.lock(taskId, this.#closing.signal)
    try {
      await this.#keep(taskId, config)
    } finally {
      release()
    }
    this.#stop(taskId, config.id)
    if (!isTerminalStatus(run.status)) void this.#push(run, config, after)
    return toTaskPushConfig(taskId, config)
  }

  async #keep(taskId: string, config: PushConfig): Promise<void> {
    const others = (await this.#tasks.listPushConfigs(taskId)).filter(({ id }) => id !== config.id)
    if (others.length >= MAX_CONFIGS)
      throw new A2A_ERR_UNSUPPORTED(`a task has at most ${MAX_CONFIGS} push notification configurations`)
    if (!(await this.#tasks.setPushConfig(taskId, config))) throw new A2A_ERR_TASK_NOT_FOUND()
  }

  async list(taskId: string): Promise<TaskPushConfig[]> {
    return (await this.#tasks.listPushConfigs(taskId)).map((config) => toTaskPushConfig(taskId, config))
  }

  async remove(taskId: string, id: string): Promise<void> {
    await this.#tasks.removePushConfig(taskId, id)
    this.#stop(taskId, id)
  }

  /** Stops all that is under way. */
  close(): void {
    this.#closing.abort()
    for (const reader of this.#readers.values()) reader.abort()
  }

  #stop(taskId: string, id: string): void {
    this.#readers.get(keyOf(taskId, id))?.abort()
  }

  async #push(run: StoredRun, config: PushConfig, after: number | undefined): Promise<void> {
    const key = keyOf(run.runId, config.id)
    const reader = new AbortController()
    this.#readers.set(key, reader)
    try {
      await this.#follow(run, config, after, reader.signal)
    } catch (err) {
      if (!reader.signal.aborted)
        this.#log.error({ err: toLoggable(err), runId: run.runId }, 'push notifications ended early')
    } finally {
      if (this.#readers.get(key) === reader) this.#readers.delete(key)
    }
  }

  async #follow(run: StoredRun, config: PushConfig, after: number | undefined, signal: AbortSignal) {
    const { runId, sessionId, createdAt } = run
    const fresh = { events: new TaskEvents({ taskId: runId, contextId: sessionId, createdAt }), lastSeq: 0 }
    const { lastSeq, ...soFar } =
      after === 0 ? { ...fresh, result: undefined } : await readSoFar(this.#runs, run)
    const pushed = new PushEvents(soFar.events, soFar.result)
    for await (const { part } of readEntries(this.#runs, runId, lastSeq, signal))
      for (const event of pushed.add(part)) await this.#send(event, runId, config, signal)
  }

  async #send(event: TaskEvent, runId: string, config: PushConfig, signal: AbortSignal): Promise<void> {
    const version = (config.version ?? '0.3') as ProtocolVersion
    const delivery = await encodePush(event, version, config, () => this.#readTask(runId))
    if (delivery !== undefined) await deliver(delivery, this.#rules, signal, this.#log)
  }

  async #readTask(runId: string) {
    const run = await this.#runs.get(runId)
    return run && readTask({ runs: this.#runs, tasks: this.#tasks }, run)
  }
}

function toTaskPushConfig(taskId: string, { version: _, ...config }: PushConfig): TaskPushConfig {
  return { taskId, ...config } as TaskPushConfig
}

function keyOf(taskId: string, id: string): string {
  return JSON.stringify([taskId, id])
}
