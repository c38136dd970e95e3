import { randomUUID } from 'node:crypto'
import { ANONYMOUS, isTerminalStatus, type PushConfig, type RunSummary } from '@svc/registry'
import { KeyedLock } from '@svc/registry/store-kit'
import { A2A_ERR_TASK_NOT_FOUND, A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { GivenPushConfig, PushClient, Pushes, TaskPushConfig } from '../model/push.ts'
import { badParams } from '../wire/decode-params.ts'
import { Budget } from './budget.ts'
import { keepReading } from './keep-reading.ts'
import { listOpenPushes } from './list-open-pushes.ts'
import { PushReader, type PushSource } from './push-reader.ts'
import { requirePublicTarget, requireUrl, UnsafeTargetError } from './safe-target.ts'

/** Configurations of one task. */
const MAX_CONFIGS = 10
/** Configurations with notifications to come, of one owner other than the anonymous one. */
const MAX_OPEN = 1_000
/** Receivers read for, or sent to, at once. */
const MAX_READERS = 512
/** Characters of the requests under way. */
const MAX_BODIES = 33_554_432
/** A page of many small entries, or of one large entry. */
const PAGE = { entries: 512, bytes: 65_536 }

/**
 * Pushes the changes of tasks to the URLs of their clients. Each configuration has a reader of its own: its notifications stay
 * in order, and a receiver that is down delays no other. Progress is stored with the configuration, so that a restart resumes
 * there.
 */
export class PushService implements Pushes {
  readonly #source: PushSource
  readonly #endpoint: string
  readonly #readers = new Map<string, AbortController>()
  readonly #openOf = new Map<string, number>()
  // One at a time per task, or concurrent calls could exceed the limit.
  readonly #adding = new KeyedLock()
  readonly #closing = new AbortController()
  // Configurations that clients change while interrupted ones are listed: the list may be outdated.
  #changed: Set<string> | undefined

  /** `endpoint` is the path of the service: services that share a store resume their own configurations alone. */
  constructor(source: Omit<PushSource, 'readers' | 'bodies'>, endpoint: string) {
    this.#source = { ...source, readers: new Budget(MAX_READERS), bodies: new Budget(MAX_BODIES) }
    this.#endpoint = endpoint
  }

  resume(): void {
    this.#changed = new Set()
    this.#resume()
      .catch(() => {})
      .finally(() => (this.#changed = undefined))
  }

  async check(text: string, owner: string): Promise<void> {
    const url = requireUrl(text, 'url')
    if (owner !== ANONYMOUS.sub && (this.#openOf.get(owner) ?? 0) >= MAX_OPEN)
      throw new A2A_ERR_UNSUPPORTED(
        `the unfinished tasks of one user have at most ${MAX_OPEN} push notification configurations`
      )
    try {
      await requirePublicTarget(url, this.#source.rules)
    } catch (err) {
      // A name that does not resolve now is looked up again for each notification.
      if (err instanceof UnsafeTargetError) throw badParams('url', err.message)
    }
  }

  async add(
    run: Pick<RunSummary, 'runId' | 'owner' | 'status'>,
    given: GivenPushConfig,
    { version, origin }: PushClient,
    after?: number
  ): Promise<TaskPushConfig> {
    const { runId: taskId, owner } = run
    const endpoint = this.#endpoint
    const config: PushConfig = { ...given, id: given.id ?? randomUUID(), version, endpoint, origin }
    const sent = after ?? (await this.#lastPart(run))
    const release = await this.#adding.lock(taskId, this.#closing.signal)
    try {
      await this.#store(taskId, config, sent)
    } finally {
      release()
    }
    if (sent !== null) void this.#push(taskId, owner, config, sent)
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

  close(): void {
    this.#closing.abort()
    for (const reader of this.#readers.values()) reader.abort()
  }

  async #resume(): Promise<void> {
    const { readers } = this.#source
    const { signal } = this.#closing
    for await (const { taskId, owner, config, pushed: sent } of listOpenPushes(this.#source, signal)) {
      if (config.endpoint !== this.#endpoint) continue
      // Starts no more readers than can run at once.
      const release = await readers.take(1, signal)
      release()
      if (!this.#changed?.has(keyOf(taskId, config.id))) void this.#push(taskId, owner, config, sent)
    }
  }

  // Null for a task that has ended.
  async #lastPart({ runId, status }: Pick<RunSummary, 'runId' | 'status'>): Promise<number | null> {
    if (isTerminalStatus(status)) return null
    const { log } = this.#source.runs.stores
    for (let seq = 0; ;) {
      const entries = await log.read(runId, seq, PAGE)
      if (entries.length === 0) return seq
      seq = entries.at(-1)!.seq
    }
  }

  async #store(taskId: string, config: PushConfig, sent: number | null): Promise<void> {
    const others = (await this.#source.tasks.listPushConfigs(taskId)).filter(({ id }) => id !== config.id)
    if (others.length >= MAX_CONFIGS)
      throw new A2A_ERR_UNSUPPORTED(`a task has at most ${MAX_CONFIGS} push notification configurations`)
    // The reader it replaces must record nothing after it.
    this.#stop(taskId, config.id)
    if (!(await this.#source.tasks.setPushConfig(taskId, config, sent))) throw new A2A_ERR_TASK_NOT_FOUND()
  }

  #stop(taskId: string, id: string): void {
    const key = keyOf(taskId, id)
    this.#changed?.add(key)
    this.#readers.get(key)?.abort()
  }

  async #push(taskId: string, owner: string, config: PushConfig, sent: number): Promise<void> {
    const key = keyOf(taskId, config.id)
    const stop = new AbortController()
    this.#readers.set(key, stop)
    this.#count(owner, 1)
    const reader = new PushReader(this.#source, taskId, config, sent, stop.signal)
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
  const { version: _version, endpoint: _endpoint, origin: _origin, ...given } = config
  return { taskId, ...given } as TaskPushConfig
}

function keyOf(taskId: string, id: string): string {
  return JSON.stringify([taskId, id])
}
