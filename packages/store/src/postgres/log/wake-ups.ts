import type { NodeChannel } from '../nodes/node-channel.ts'
import { textArray } from '../lane/binary-arrays.ts'
import type { Query } from '../query.ts'
import type { LocalLogs } from '../../runs/local-logs.ts'
import type { LogWakeUps } from '../../runs/stream-log.ts'

interface Look {
  run_id: string
  ended: boolean
  last: number | null
}

// Milliseconds between two looks, the longest that a reader waits if a notification was lost.
const LOOK_EVERY = 1_000
// Milliseconds for which a node notifies others after they announced their readers.
const INTEREST = 5_000

/**
 * Wakes the readers of logs that other nodes write. A node notifies the others only of logs that they have announced to
 * follow. In case a notification is lost, the state of all followed logs is read once a second, in one query.
 */
export class WakeUps implements LogWakeUps {
  readonly #logs: LocalLogs
  readonly #channel: NodeChannel
  readonly #query: Query
  readonly #text: string
  // When the interest of other nodes in our logs ends.
  readonly #interest = new Map<string, number>()
  readonly #timer: NodeJS.Timeout
  #looking = new Set<string>()
  #closed = false

  /** @param table quotes the name of a table, with its schema */
  constructor(logs: LocalLogs, channel: NodeChannel, query: Query, table: (name: string) => string) {
    this.#logs = logs
    this.#channel = channel
    this.#query = query
    this.#text = `select f.run_id, r.ended_at is not null as ended,
        (select seq from ${table('run_part')} p where p.run_id = f.run_id order by seq desc limit 1) as last
      from unnest($1::text[]) as f(run_id) join ${table('run')} r using (run_id)`
    channel.on('log', (runIds) => runIds.forEach((runId) => logs.wake(runId)))
    channel.on('follow', (runIds) => this.#follow(runIds))
    channel.onReconnect(() => this.#lookAtAll())
    this.#timer = setInterval(() => this.#lookAtAll(), LOOK_EVERY).unref()
  }

  /** Notifies other nodes that follow this log. */
  notify(runId: string): void {
    if (this.isFollowed(runId)) void this.#channel.post('log', [runId])
  }

  /** True if other nodes follow this log. */
  isFollowed(runId: string): boolean {
    const until = this.#interest.get(runId)
    if (until === undefined) return false
    if (until >= performance.now()) return true
    this.#interest.delete(runId)
    return false
  }

  /** Announces a reader of another node's log, and wakes it if the log is over or missing. */
  announce(runId: string): void {
    void this.#channel.post('follow', [runId])
    this.#look([runId])
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#timer)
  }

  #follow(runIds: readonly string[]): void {
    const now = performance.now()
    for (const runId of runIds) {
      if (this.#logs.get(runId)?.isOwn !== true) continue
      const known = this.#interest.get(runId) ?? 0
      this.#interest.set(runId, now + INTEREST)
      this.#logs.followed(runId)
      // It may have read before our last append.
      if (known < now) this.notify(runId)
    }
  }

  #lookAtAll(): void {
    const now = performance.now()
    for (const [runId, until] of this.#interest) if (until < now) this.#interest.delete(runId)
    const foreign = this.#logs.foreign()
    if (foreign.length === 0) return
    void this.#channel.post('follow', foreign)
    this.#look(foreign)
  }

  // All of one turn in one query.
  #look(runIds: readonly string[]): void {
    const isFirst = this.#looking.size === 0
    for (const runId of runIds) this.#looking.add(runId)
    if (isFirst) setImmediate(() => void this.#lookNow())
  }

  async #lookNow(): Promise<void> {
    const runIds = [...this.#looking]
    this.#looking = new Set()
    let found: readonly Look[]
    try {
      found = await this.#query<Look>('svc look', this.#text, [textArray(runIds)])
    } catch {
      return
    }
    if (this.#closed) return
    const missing = new Set(runIds)
    for (const { run_id: runId, ended, last } of found) {
      missing.delete(runId)
      const log = this.#logs.get(runId)
      if (log === undefined || log.isOwn || !(ended || (last ?? 0) > log.lookedAt)) continue
      log.lookedAt = last ?? 0
      this.#logs.wake(runId)
    }
    for (const runId of missing) if (this.#logs.get(runId)?.isOwn === false) this.#logs.wake(runId, true)
  }
}
