import { randomUUID } from 'node:crypto'
import { isTerminalStatus, KeyedLock, toLoggable, type PushConfig, type RunSummary } from '@svc/registry'
import { A2A_ERR_TASK_NOT_FOUND, A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { TaskPushConfig } from '../model/push-config.ts'
import type { Call } from '../surface.ts'
import { readSoFar } from '../tasks/read-task.ts'
import { badParams } from '../wire/decode-params.ts'
import { requirePublicTarget, requireUrl, UnsafeTargetError } from './safe-target.ts'
import { tellReceiver, type PushSource } from './tell-receiver.ts'

/** Configurations that one task may have. */
const MAX_CONFIGS = 10

/** What a client says of where to push to. */
type GivenConfig = Omit<TaskPushConfig, 'taskId' | 'id'> & { id?: string }

/**
 * Pushes the changes of tasks to where their clients asked for. Each configuration has a reader of its own, at its own pace:
 * its notifications come in order, and a receiver that is away holds up nobody else. How far it came is kept with the
 * configuration: what a restart interrupts goes on there.
 */
export class PushService {
  readonly #source: PushSource
  readonly #endpoint: string
  readonly #readers = new Map<string, AbortController>()
  // Of each task one is added at a time, or they could be more than are allowed.
  readonly #adding = new KeyedLock()
  readonly #closing = new AbortController()

  /** `endpoint` is the path of the service: what another one has taken in the same store is not its own. */
  constructor(source: PushSource, endpoint: string) {
    this.#source = source
    this.#endpoint = endpoint
  }

  /** Goes on with what a restart interrupted. */
  async resume(): Promise<void> {
    for (const { taskId, config, told } of await this.#source.tasks.listOpenPushes()) {
      if (config.endpoint !== this.#endpoint) continue
      const run = await this.#source.runs.find(taskId)
      if (run !== undefined && this.#source.exposed.shows(run)) void this.#push(run, config, told)
    }
  }

  /** Makes sure that something may be sent to a URL, as far as is known now. @throws A2A_ERR_BAD_PARAMS */
  async check(text: string): Promise<void> {
    const url = requireUrl(text, 'url')
    try {
      await requirePublicTarget(url, this.#source.rules)
    } catch (err) {
      // A name that cannot be resolved now is looked up again for each notification.
      if (err instanceof UnsafeTargetError) throw badParams('url', err.message)
    }
  }

  /** Keeps a configuration and begins to push: what comes after the part `after`, by default what comes from now on. */
  async add(call: Call, run: RunSummary, given: GivenConfig, after?: number): Promise<TaskPushConfig> {
    const { runId: taskId } = run
    const { version } = call
    const config: PushConfig = { ...given, id: given.id ?? randomUUID(), version, endpoint: this.#endpoint }
    const told = after ?? (await this.#now(run))
    const release = await this.#adding.lock(taskId, this.#closing.signal)
    try {
      await this.#keep(taskId, config, told)
    } finally {
      release()
    }
    if (told !== null) void this.#push(run, config, told)
    return toTaskPushConfig(taskId, config)
  }

  // Of a task that has ended nothing more comes.
  async #now(run: RunSummary): Promise<number | null> {
    return isTerminalStatus(run.status) ? null : (await readSoFar(this.#source.runs, run)).lastSeq
  }

  async #keep(taskId: string, config: PushConfig, told: number | null): Promise<void> {
    const others = (await this.#source.tasks.listPushConfigs(taskId)).filter(({ id }) => id !== config.id)
    if (others.length >= MAX_CONFIGS)
      throw new A2A_ERR_UNSUPPORTED(`a task has at most ${MAX_CONFIGS} push notification configurations`)
    // What it replaces must not record anything after it.
    this.#stop(taskId, config.id)
    if (!(await this.#source.tasks.setPushConfig(taskId, config, told))) throw new A2A_ERR_TASK_NOT_FOUND()
  }

  async list(taskId: string): Promise<TaskPushConfig[]> {
    return (await this.#source.tasks.listPushConfigs(taskId)).map((config) =>
      toTaskPushConfig(taskId, config)
    )
  }

  async remove(taskId: string, id: string): Promise<void> {
    this.#stop(taskId, id)
    await this.#source.tasks.removePushConfig(taskId, id)
  }

  /** Stops all that is under way. */
  close(): void {
    this.#closing.abort()
    for (const reader of this.#readers.values()) reader.abort()
  }

  #stop(taskId: string, id: string): void {
    this.#readers.get(keyOf(taskId, id))?.abort()
  }

  async #push(run: RunSummary, config: PushConfig, told: number): Promise<void> {
    const key = keyOf(run.runId, config.id)
    const reader = new AbortController()
    this.#readers.set(key, reader)
    try {
      await tellReceiver(this.#source, run, config, told, reader.signal)
    } catch (err) {
      if (!reader.signal.aborted)
        this.#source.log.error({ err: toLoggable(err), runId: run.runId }, 'push notifications ended early')
    } finally {
      if (this.#readers.get(key) === reader) this.#readers.delete(key)
    }
  }
}

function toTaskPushConfig(taskId: string, config: PushConfig): TaskPushConfig {
  const { version: _version, endpoint: _endpoint, ...given } = config
  return { taskId, ...given } as TaskPushConfig
}

function keyOf(taskId: string, id: string): string {
  return JSON.stringify([taskId, id])
}
