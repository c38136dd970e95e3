import type { BusyReceivers } from '@svc/contract'

/** How many messages are sent at a time. */
export interface SlotRules {
  readonly concurrency: number
  readonly perHost: number
}

/** The receiver of a message, and the owner of its webhook. */
export interface Receiver {
  readonly host: string
  readonly owner: string
}

/** Attempts in a row that a host leaves unanswered until it is left alone. */
const OPEN_AFTER = 5
/** Milliseconds for which it is left alone: at first, and at most. */
const FIRST_PAUSE = 5_000
const LONGEST_PAUSE = 60_000

/** A host that leaves attempts unanswered. */
interface Silence {
  readonly attempts: number
  /** Nothing is sent before. */
  readonly until: number
}

/**
 * The messages that may be sent at a time. An owner gets no more slots than it leaves free, so that its receivers, even if all of them hang,
 * keep no other owner waiting. A host that answers nothing is left alone for a while, and then gets no more messages at once than one claim has,
 * until it answers.
 */
export class SendSlots {
  readonly #rules: SlotRules
  readonly #byHost = new Map<string, number>()
  readonly #byOwner = new Map<string, number>()
  readonly #silent = new Map<string, Silence>()
  #taken = 0

  constructor(rules: SlotRules) {
    this.#rules = rules
  }

  get free(): number {
    return this.#rules.concurrency - this.#taken
  }

  /** To whom nothing may be sent now. */
  busy(now: number): BusyReceivers {
    const hosts = [...this.#byHost].flatMap(([host, count]) => (count >= this.#most(host) ? [host] : []))
    const silent = [...this.#silent].flatMap(([host, { until }]) => (now < until ? [host] : []))
    const owners = [...this.#byOwner].flatMap(([owner, count]) => (count >= this.free ? [owner] : []))
    return { hosts: [...new Set([...hosts, ...silent])], owners }
  }

  /** How many messages may be taken at once: all of them may be of one owner, and for one host. */
  get mostAtOnce(): number {
    const { perHost } = this.#rules
    const ofHost = Math.max(0, ...[...this.#byHost.values()].filter((count) => count < perHost))
    const ofOwner = Math.max(0, ...[...this.#byOwner.values()].filter((count) => count < this.free))
    const share = Math.floor((this.free - ofOwner + 1) / 2)
    return Math.min(share, perHost - ofHost)
  }

  /** The next time at which a host is no longer left alone; undefined if there is none. */
  nextAt(now: number): number | undefined {
    const times = Array.from(this.#silent.values(), ({ until }) => until).filter((until) => until > now)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  take({ host, owner }: Receiver): void {
    this.#taken++
    add(this.#byHost, host, 1)
    add(this.#byOwner, owner, 1)
  }

  /** @param isAnswered whether the host has sent any answer; undefined if it was not asked */
  release({ host, owner }: Receiver, isAnswered: boolean | undefined, now: number): void {
    this.#taken--
    add(this.#byHost, host, -1)
    add(this.#byOwner, owner, -1)
    if (isAnswered === undefined) return
    if (isAnswered) return void this.#silent.delete(host)
    const attempts = (this.#silent.get(host)?.attempts ?? 0) + 1
    const over = attempts - OPEN_AFTER
    const pause = over < 0 ? 0 : Math.min(FIRST_PAUSE * 2 ** over, LONGEST_PAUSE)
    this.#silent.set(host, { attempts, until: now + pause })
    this.#forget(now)
  }

  #most(host: string): number {
    const { attempts = 0 } = this.#silent.get(host) ?? {}
    return attempts >= OPEN_AFTER ? 1 : this.#rules.perHost
  }

  // Hosts that get no more messages.
  #forget(now: number): void {
    for (const [host, { until }] of this.#silent)
      if (until + 10 * LONGEST_PAUSE < now && !this.#byHost.has(host)) this.#silent.delete(host)
  }
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
