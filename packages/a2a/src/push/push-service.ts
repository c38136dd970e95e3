import {
  ANONYMOUS,
  type NodeLease,
  type OpenPush,
  type PushConfig,
  type RunSummary,
  codeOf,
  isTerminalStatus,
  toLoggable
} from '@svc/contract'
import { KeyedLock } from '@svc/contract/stores'
import { UnsafeTargetError, readTarget, requirePublicTarget } from '@svc/surface'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { A2A_ERR_TASK_NOT_FOUND, A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { GivenPushConfig, PushClient, Pushes, TaskPushConfig } from '../model/requests.ts'
import { Budget, PushReader, type PushSource } from './push-reader.ts'
import { pauseAfter } from './deliver.ts'
import { badParams } from '../wire/decode-params.ts'

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
/** Milliseconds between two claims of what other nodes may have left, besides those at their deaths. */
const CLAIM_EVERY = 30_000
/** Milliseconds until a node that was declared dead may have joined again. */
const REJOIN_CHECK = 100

/** The reader of a configuration. */
interface Reading {
  readonly controller: AbortController
  /** Resolves once it records nothing more. */
  readonly ended: Promise<void>
}

/**
 * Pushes the changes of tasks to the URLs of their clients. Each configuration has a reader of its own: its notifications stay
 * in order, and a receiver that is down delays no other. Progress is stored with the configuration, and one node at a time has claimed
 * it, so that a restart or another node resumes there.
 */
export class PushService implements Pushes {
  readonly #source: PushSource
  readonly #endpoint: string
  readonly #readers = new Map<string, Reading>()
  // One at a time per task, or two calls could leave the reader of the first one.
  readonly #adding = new KeyedLock()
  readonly #closing = new AbortController()
  #mayClaim = false
  #claiming: Promise<void> | undefined

  /** `endpoint` is the path of the service: services that share a store resume their own configurations alone. */
  constructor(source: Omit<PushSource, 'readers' | 'bodies'>, endpoint: string) {
    this.#source = { ...source, readers: new Budget(MAX_READERS), bodies: new Budget(MAX_BODIES) }
    this.#endpoint = endpoint
  }

  resume(): void {
    this.#claim()
    const { lease } = this.#source.runs.stores
    if (lease === undefined) return
    const { signal } = this.#closing
    const timer = setInterval(() => this.#claim(), CLAIM_EVERY).unref()
    const ignoreLeft = lease.onLeft(() => this.#claim())
    const ignoreLost = lease.onLost(() => {
      for (const { controller } of this.#readers.values()) controller.abort()
      void this.#claimAgain(lease)
    })
    signal.addEventListener('abort', () => {
      clearInterval(timer)
      ignoreLeft()
      ignoreLost()
    })
  }

  async check(text: string, owner: string): Promise<void> {
    const url = readTarget(text)
    if (typeof url === 'string') throw badParams('url', url)
    if (owner !== ANONYMOUS.sub && (await this.#source.tasks.countOpenPushes(owner)) >= MAX_OPEN)
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
    const { runId: taskId } = run
    const endpoint = this.#endpoint
    const config: PushConfig = { ...given, id: given.id ?? randomUUID(), version, endpoint, origin }
    const sent = after ?? (await this.#lastPart(run))
    const release = await this.#adding.lock(taskId, this.#closing.signal)
    try {
      await this.#store(taskId, config, sent)
      if (sent !== null) this.#push({ taskId, config, pushed: sent })
    } finally {
      release()
    }
    return toTaskPushConfig(taskId, config)
  }

  async list(taskId: string): Promise<TaskPushConfig[]> {
    return (await this.#source.tasks.listPushConfigs(taskId)).map((config) =>
      toTaskPushConfig(taskId, config)
    )
  }

  async remove(taskId: string, id: string): Promise<void> {
    this.#readers.get(keyOf(taskId, id))?.controller.abort()
    await this.#source.tasks.removePushConfig(taskId, id)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    const readers = [...this.#readers.values()]
    for (const { controller } of readers) controller.abort()
    await Promise.all([this.#claiming, ...readers.map(({ ended }) => ended)])
    // With a lease, the node gives up everything at once.
    if (this.#source.runs.stores.lease !== undefined) return
    try {
      await this.#source.tasks.releasePushes(this.#endpoint)
    } catch (err) {
      this.#source.log.error(
        { err: toLoggable(err) },
        'push notifications stay claimed until this process ends'
      )
    }
  }

  #claim(): void {
    this.#mayClaim = true
    this.#claiming ??= this.#claimAll()
  }

  async #claimAll(): Promise<void> {
    const { readers, log } = this.#source
    const { signal } = this.#closing
    try {
      while (this.#mayClaim) {
        this.#mayClaim = false
        for await (const push of claimPushes(this.#source, this.#endpoint, signal)) {
          // Starts no more readers than can run at once.
          const release = await readers.take(1, signal)
          release()
          // A client may have replaced the configuration since.
          const reading = this.#readers.get(keyOf(push.taskId, push.config.id))
          if (reading === undefined || reading.controller.signal.aborted) this.#push(push)
        }
      }
    } catch (err) {
      if (!signal.aborted) log.error({ err: toLoggable(err) }, 'push notifications could not be claimed')
    } finally {
      this.#claiming = undefined
    }
  }

  // A node that was declared dead joins again after this event.
  async #claimAgain(lease: NodeLease): Promise<void> {
    const { signal } = this.#closing
    try {
      await pause(REJOIN_CHECK, undefined, { signal, ref: false })
      await lease.whenHeld(signal)
    } catch {
      return
    }
    this.#claim()
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
    // The reader it replaces must record nothing after it.
    const reading = this.#readers.get(keyOf(taskId, config.id))
    reading?.controller.abort()
    await reading?.ended
    const outcome = await this.#source.tasks.setPushConfig(taskId, config, sent, MAX_CONFIGS)
    if (outcome === 'unknown') throw new A2A_ERR_TASK_NOT_FOUND()
    if (outcome === 'full')
      throw new A2A_ERR_UNSUPPORTED(`a task has at most ${MAX_CONFIGS} push notification configurations`)
  }

  #push({ taskId, config, pushed }: OpenPush): void {
    if (this.#closing.signal.aborted) return
    const key = keyOf(taskId, config.id)
    const controller = new AbortController()
    const reader = new PushReader(this.#source, taskId, config, pushed, controller.signal)
    const ended = keepReading(reader, this.#source, taskId, controller.signal).finally(() => {
      if (this.#readers.get(key) === reading) this.#readers.delete(key)
    })
    const reading = { controller, ended }
    this.#readers.set(key, reading)
  }
}

function toTaskPushConfig(taskId: string, config: PushConfig): TaskPushConfig {
  const { version: _version, endpoint: _endpoint, origin: _origin, ...given } = config
  return { taskId, ...given } as TaskPushConfig
}

function keyOf(taskId: string, id: string): string {
  return JSON.stringify([taskId, id])
}

/** Tasks per claim. */
const MAX_TASKS = 50
/** Milliseconds between checks whether runs are still being recovered. */
const RECOVERY_CHECK = 100

/**
 * Claims the push notifications of an endpoint that earlier processes or dead nodes left, a few at a time, as they are asked for; a failed
 * claim is repeated. Waits until runs are recovered, since only then is it known which of them continue.
 * @throws the signal's reason when it aborts
 */
async function* claimPushes(
  source: Pick<PushSource, 'runs' | 'tasks' | 'rules' | 'log'>,
  endpoint: string,
  signal: AbortSignal
): AsyncGenerator<OpenPush, void> {
  while (source.runs.recovering) await pause(RECOVERY_CHECK, undefined, { signal, ref: false })
  for (;;) {
    const pushes = await claimSome(source, endpoint, signal)
    if (pushes.length === 0) return
    yield* pushes
  }
}

async function claimSome(
  { tasks, rules, log }: Pick<PushSource, 'tasks' | 'rules' | 'log'>,
  endpoint: string,
  signal: AbortSignal
): Promise<OpenPush[]> {
  for (let faults = 1; ; faults++) {
    signal.throwIfAborted()
    try {
      return await tasks.claimPushes({ endpoint, maxTasks: MAX_TASKS })
    } catch (err) {
      log.error({ err: toLoggable(err) }, 'interrupted push notifications cannot be claimed yet')
      await pause(pauseAfter(faults, rules), undefined, { signal, ref: false })
    }
  }
}

/** Runs a reader to the end of its task or until the signal aborts, with a pause after each failure. */
async function keepReading(
  reader: Pick<PushReader, 'read'>,
  { rules, log }: Pick<PushSource, 'rules' | 'log'>,
  runId: string,
  signal: AbortSignal
): Promise<void> {
  for (let faults = 0; !signal.aborted;) {
    try {
      const wait = await reader.read()
      if (wait === undefined) return
      faults = 0
      await pause(wait, undefined, { signal })
    } catch (err) {
      if (signal.aborted) return
      // Once per reader: a failing store stops all of them.
      if (faults++ === 0) log.error({ err: toLoggable(err), runId }, 'push notifications are delayed')
      if (isDamaged(err)) return
      await pause(pauseAfter(faults, rules), undefined, { signal }).catch(() => {})
    }
  }
}

function isDamaged(err: unknown): boolean {
  return codeOf(err) === 'RUN_ERR_DAMAGED'
}
