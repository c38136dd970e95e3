import { randomUUID } from 'node:crypto'
import { ANONYMOUS, isTerminalStatus, KeyedLock, type PushConfig, type RunSummary } from '@svc/registry'
import { A2A_ERR_TASK_NOT_FOUND, A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { ProtocolVersion } from '../wire/versions.ts'
import type { GivenPushConfig, Pushes, TaskPushConfig } from '../model/push.ts'
import { badParams } from '../wire/decode-params.ts'
import { Budget } from './budget.ts'
import { keepReading } from './keep-reading.ts'
import { listOpenPushes } from './list-open-pushes.ts'
import { PushReader, type PushSource } from './push-reader.ts'
import { requirePublicTarget, requireUrl, UnsafeTargetError } from './safe-target.ts'

/** Configurations that one task may have. */
const MAX_CONFIGS = 10
/** Configurations of one owner, other than the anonymous one, whose receivers are still to be told something. */
const MAX_OPEN = 1_000
/** How many receivers are read for, or sent to, at once. */
const MAX_READERS = 512
/** Characters that are sent at once. */
const MAX_BODIES = 33_554_432
/** Many small entries, or one large one, at a time. */
const PAGE = { entries: 512, bytes: 65_536 }

/**
 * Pushes the changes of tasks to where their clients asked for. Each configuration has a reader of its own, at its own pace:
 * its notifications come in order, and a receiver that is away holds up nobody else. How far it came is kept with the
 * configuration: what a restart interrupts goes on there.
 */
export class PushService implements Pushes {
  readonly #source: PushSource
  readonly #endpoint: string
  readonly #readers = new Map<string, AbortController>()
  readonly #openOf = new Map<string, number>()
  // Of each task one is added at a time, or they could be more than are allowed.
  readonly #adding = new KeyedLock()
  readonly #closing = new AbortController()
  // Those of which clients said something while those of before the restart are listed: what is listed may be old.
  #changed: Set<string> | undefined

  /** `endpoint` is the path of the service: what another one has taken in the same store is not its own. */
  constructor(source: Omit<PushSource, 'readers' | 'bodies'>, endpoint: string) {
    this.#source = { ...source, readers: new Budget(MAX_READERS), bodies: new Budget(MAX_BODIES) }
    this.#endpoint = endpoint
  }

  /** Goes on, in the background, with what a restart interrupted. */
  resume(): void {
    this.#changed = new Set()
    this.#resume()
      .catch(() => {})
      .finally(() => (this.#changed = undefined))
  }

  /** Makes sure that an owner may have something sent to a URL, as far as is known now. @throws A2A_ERR_BAD_PARAMS, A2A_ERR_UNSUPPORTED */
  async check(text: string, owner: string): Promise<void> {
    const url = requireUrl(text, 'url')
    if (owner !== ANONYMOUS.sub && (this.#openOf.get(owner) ?? 0) >= MAX_OPEN)
      throw new A2A_ERR_UNSUPPORTED(
        `the tasks of one user that go on have at most ${MAX_OPEN} push notification configurations`
      )
    try {
      await requirePublicTarget(url, this.#source.rules)
    } catch (err) {
      // A name that cannot be resolved now is looked up again for each notification.
      if (err instanceof UnsafeTargetError) throw badParams('url', err.message)
    }
  }

  /** Keeps a configuration and begins to push: what comes after the part `after`, by default what comes from now on. */
  async add(
    run: Pick<RunSummary, 'runId' | 'owner' | 'status'>,
    given: GivenPushConfig,
    version: ProtocolVersion,
    after?: number
  ): Promise<TaskPushConfig> {
    const { runId: taskId, owner } = run
    const config: PushConfig = { ...given, id: given.id ?? randomUUID(), version, endpoint: this.#endpoint }
    const told = after ?? (await this.#now(run))
    const release = await this.#adding.lock(taskId, this.#closing.signal)
    try {
      await this.#keep(taskId, config, told)
    } finally {
      release()
    }
    if (told !== null) void this.#push(taskId, owner, config, told)
    return toTaskPushConfig(taskId, config)
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

  async #resume(): Promise<void> {
    const { readers } = this.#source
    const { signal } = this.#closing
    for await (const { taskId, owner, config, told } of listOpenPushes(this.#source, signal)) {
      if (config.endpoint !== this.#endpoint) continue
      // No more are begun than can go on at once.
      const release = await readers.take(1, signal)
      release()
      if (!this.#changed?.has(keyOf(taskId, config.id))) void this.#push(taskId, owner, config, told)
    }
  }

  // Of a task that has ended nothing more comes.
  async #now({ runId, status }: Pick<RunSummary, 'runId' | 'status'>): Promise<number | null> {
    if (isTerminalStatus(status)) return null
    const { log } = this.#source.runs.stores
    for (let seq = 0; ;) {
      const entries = await log.read(runId, seq, PAGE)
      if (entries.length === 0) return seq
      seq = entries.at(-1)!.seq
    }
  }

  async #keep(taskId: string, config: PushConfig, told: number | null): Promise<void> {
    const others = (await this.#source.tasks.listPushConfigs(taskId)).filter(({ id }) => id !== config.id)
    if (others.length >= MAX_CONFIGS)
      throw new A2A_ERR_UNSUPPORTED(`a task has at most ${MAX_CONFIGS} push notification configurations`)
    // What it replaces must not record anything after it.
    this.#stop(taskId, config.id)
    if (!(await this.#source.tasks.setPushConfig(taskId, config, told))) throw new A2A_ERR_TASK_NOT_FOUND()
  }

  #stop(taskId: string, id: string): void {
    const key = keyOf(taskId, id)
    this.#changed?.add(key)
    this.#readers.get(key)?.abort()
  }

  async #push(taskId: string, owner: string, config: PushConfig, told: number): Promise<void> {
    const key = keyOf(taskId, config.id)
    const stop = new AbortController()
    this.#readers.set(key, stop)
    this.#count(owner, 1)
    const reader = new PushReader(this.#source, taskId, config, told, stop.signal)
    await keepReading(reader, this.#source, taskId, stop.signal)
    this.#count(owner, -1)
    if (this.#readers.get(key) === stop) this.#readers.delete(key)
  }

  #count(owner: string, change: 1 | -1): void {
    const open = (this.#openOf.get(owner) ?? 0) + change
    if (open === 0) this.#openOf.delete(owner)
    else this.#openOf.set(owner, open)
  }
}

function toTaskPushConfig(taskId: string, config: PushConfig): TaskPushConfig {
  const { version: _version, endpoint: _endpoint, ...given } = config
  return { taskId, ...given } as TaskPushConfig
}

function keyOf(taskId: string, id: string): string {
  return JSON.stringify([taskId, id])
}
