import { createHash } from 'node:crypto'
import { SessionFollowers } from '@svc/contract/stores'
import { textArray } from '../lane/binary-arrays.ts'
import type { Query } from '../query.ts'
import type { NodeChannel } from './node-channel.ts'

/** What the followers of several nodes need. */
export interface FollowersHost {
  readonly channel: NodeChannel
  readonly query: Query
  /** Quotes the name of a table, with its schema. */
  readonly table: (name: string) => string
}

// Milliseconds between two looks, the longest that a reader waits if a notification was lost.
const LOOK_EVERY = 1_000
// Milliseconds for which a node notifies others after they announced their readers.
const INTEREST = 5_000

/**
 * The followers of sessions that runs enter on any node. A node notifies the others only of sessions that they have announced to follow; in case a
 * notification is lost, the last ordinals of all followed sessions are read once a second, in one query.
 */
export class EnteredSessions implements Pick<SessionFollowers, 'follow' | 'notify'> {
  readonly #host: FollowersHost
  readonly #text: string
  readonly #followers = new SessionFollowers()
  // The last ordinals that looks have found.
  readonly #seen = new Map<string, number>()
  // When the interest of other nodes ends, by hashes of keys.
  readonly #interest = new Map<string, number>()
  readonly #timer: NodeJS.Timeout

  constructor(host: FollowersHost) {
    this.#host = host
    this.#text = `select ord::int, s.last_ordinal as last from unnest($1::text[]) with ordinality as f(session_key, ord)
      join ${host.table('session')} s using (session_key)`
    host.channel.on('visit', (hashes) => this.#announced(hashes))
    host.channel.on('enter', (hashes) => this.#entered(new Set(hashes)))
    host.channel.onReconnect(() => void this.#look())
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY).unref()
  }

  /** A run of this node has entered, or this node has removed the session. */
  notify(sessionKey: string): void {
    this.#followers.notify(sessionKey)
    if (this.#interest.size === 0) return
    const hash = hashOf(sessionKey)
    if ((this.#interest.get(hash) ?? 0) >= performance.now()) void this.#host.channel.post('enter', [hash])
  }

  follow(sessionKey: string, listener: () => void): () => void {
    void this.#host.channel.post('visit', [hashOf(sessionKey)])
    return this.#followers.follow(sessionKey, listener)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #announced(hashes: readonly string[]): void {
    for (const hash of hashes) this.#interest.set(hash, performance.now() + INTEREST)
  }

  #entered(hashes: ReadonlySet<string>): void {
    for (const key of this.#followers.keys) if (hashes.has(hashOf(key))) this.#followers.notify(key)
  }

  async #look(): Promise<void> {
    const now = performance.now()
    for (const [hash, until] of this.#interest) if (until < now) this.#interest.delete(hash)
    const { keys } = this.#followers
    const followed = new Set(keys)
    for (const key of this.#seen.keys()) if (!followed.has(key)) this.#seen.delete(key)
    if (keys.length === 0) return
    void this.#host.channel.post('visit', keys.map(hashOf))
    const { query } = this.#host
    const rows = await query<{ ord: number; last: number }>('svc entered', this.#text, [
      textArray(keys)
    ]).catch(() => undefined)
    if (rows === undefined) return
    const found = new Set<string>()
    for (const { ord, last } of rows) {
      const key = keys[ord - 1]!
      found.add(key)
      if (this.#seen.get(key) === last) continue
      this.#seen.set(key, last)
      this.#followers.notify(key)
    }
    // Removed since.
    for (const key of keys) if (!found.has(key) && this.#seen.delete(key)) this.#followers.notify(key)
  }
}

// A message has no room for keys, and they may have spaces.
function hashOf(sessionKey: string): string {
  return createHash('sha256').update(sessionKey).digest('base64url').slice(0, 22)
}
