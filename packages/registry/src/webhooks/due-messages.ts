import {
  timeOf,
  toLoggable,
  type BusyReceivers,
  type ClaimedDelivery,
  type DeliveryOutcome,
  type RunLog,
  type Stores,
  type WebhookStore
} from '@svc/contract'
import { isReported } from '../stores/upkeep/store-watch.ts'
import { hostOf, sendMessage, type SendRules } from './send-message.ts'

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

  /** @param hasAnswered whether the host has sent any answer; undefined if it was not asked */
  release({ host, owner }: Receiver, hasAnswered: boolean | undefined, now: number): void {
    this.#taken--
    add(this.#byHost, host, -1)
    add(this.#byOwner, owner, -1)
    if (hasAnswered === undefined) return
    if (hasAnswered) return void this.#silent.delete(host)
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

/** The parts of the engine that webhooks need. */
export interface WebhookHost {
  readonly stores: Stores
  readonly log: RunLog
}

/** How messages are sent, and how many at a time. */
export interface DueRules extends SendRules, SlotRules {}

// Milliseconds between two looks: other processes may leave messages, and their wake-ups reach only themselves.
const LOOK_EVERY = 60_000
const LOOK_EVERY_SHARED = 5_000
const LOOK_AT_ONCE = 20
// Milliseconds until a look that failed is repeated.
const RETRY_AFTER = 5_000
// Milliseconds that a claim lasts longer than its attempt may.
const MARGIN = 5_000
// Errors of attempts that reach no host.
const UNASKED = new Set(['NO_SECRET', 'UNSAFE_ADDRESS'])

/** Sends the messages of the outbox when they are due. */
export class DueMessages {
  readonly #host: WebhookHost
  readonly #store: WebhookStore
  readonly #rules: DueRules
  readonly #closed = new AbortController()
  readonly #sending = new Set<Promise<void>>()
  readonly #slots: SendSlots
  #unsubscribe: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #isAsked = false

  constructor(host: WebhookHost, store: WebhookStore, rules: DueRules) {
    this.#host = host
    this.#store = store
    this.#rules = rules
    this.#slots = new SendSlots(rules)
  }

  /** Begins to send; a second call does nothing. */
  begin(): void {
    if (this.#unsubscribe !== undefined || this.#closed.signal.aborted) return
    this.#unsubscribe = this.#store.onAdded(() => this.look())
    this.look()
  }

  /** Looks for messages that are due, if it has begun. */
  look(): void {
    if (this.#unsubscribe === undefined || this.#closed.signal.aborted) return
    this.#isAsked = true
    this.#looking ??= this.#work()
  }

  /** Sends nothing more. Requests under way end, and are repeated later. */
  async close(): Promise<void> {
    this.#closed.abort()
    this.#unsubscribe?.()
    clearTimeout(this.#timer)
    await this.#looking
    await Promise.all(this.#sending)
  }

  async #work(): Promise<void> {
    clearTimeout(this.#timer)
    const { signal } = this.#closed
    let delay = RETRY_AFTER
    while (this.#isAsked && !signal.aborted) {
      this.#isAsked = false
      delay = await this.#lookOnce()
    }
    this.#looking = undefined
    if (!signal.aborted) this.#timer = setTimeout(() => this.look(), delay).unref()
  }

  // Returns the milliseconds until the next look.
  async #lookOnce(): Promise<number> {
    const { stores, log } = this.#host
    const longest = stores.lease === undefined ? LOOK_EVERY : LOOK_EVERY_SHARED
    try {
      if (stores.lease?.held === false) return longest
      let next = await this.#nextAt()
      if (next !== undefined && next <= timeOf(stores)) {
        await this.#sendDue()
        // The end of a request is a reason to look again.
        if (this.#slots.free === 0) return longest
        next = await this.#nextAt()
      }
      if (next === undefined) return longest
      return Math.min(Math.max(next - timeOf(stores), LOOK_AT_ONCE), longest)
    } catch (err) {
      if (!isReported(err)) log.error({ err: toLoggable(err) }, 'messages of webhooks cannot be sent yet')
      return RETRY_AFTER
    }
  }

  async #sendDue(): Promise<void> {
    const { timeout } = this.#rules
    while (this.#slots.free > 0 && !this.#closed.signal.aborted) {
      const now = timeOf(this.#host.stores)
      const limit = this.#slots.mostAtOnce
      const claimed = await this.#store.claim({
        now,
        until: now + timeout + MARGIN,
        limit,
        busy: this.#slots.busy(now)
      })
      for (const delivery of claimed) this.#send(delivery)
      if (claimed.length < limit) return
    }
  }

  // When a message can be claimed, or a host that was left alone gets one again.
  async #nextAt(): Promise<number | undefined> {
    const now = timeOf(this.#host.stores)
    const next = await this.#store.nextAt(this.#slots.busy(now))
    const reopens = this.#slots.nextAt(now)
    return next === undefined || reopens === undefined ? (next ?? reopens) : Math.min(next, reopens)
  }

  #send(delivery: ClaimedDelivery): void {
    const receiver = { host: hostOf(delivery.url), owner: delivery.owner }
    this.#slots.take(receiver)
    const sent = this.#deliver(delivery)
      .then((answered) => this.#slots.release(receiver, answered, timeOf(this.#host.stores)))
      .finally(() => {
        this.#sending.delete(sent)
        this.look()
      })
    this.#sending.add(sent)
  }

  // Whether the host has answered; undefined if it was not asked. If the outcome cannot be stored, the message is sent again once its
  // claim is over. Never rejects.
  async #deliver(delivery: ClaimedDelivery): Promise<boolean | undefined> {
    const { stores, log } = this.#host
    const { deliveryId, webhookId, runId, attempts } = delivery
    const now = () => timeOf(stores)
    let outcome: DeliveryOutcome
    try {
      outcome = await sendMessage(delivery, this.#rules, this.#closed.signal, now)
    } catch (err) {
      const { lastStatus, lastError } = delivery
      const { aborted } = this.#closed.signal
      if (!aborted) log.error({ err: toLoggable(err), deliveryId }, 'a message of a webhook cannot be sent')
      outcome = { state: 'pending', at: now() + (aborted ? 0 : RETRY_AFTER), lastStatus, lastError }
    }
    if (outcome.state === 'dead') {
      const { lastStatus, lastError } = outcome
      log.error(
        { deliveryId, webhookId, runId, lastStatus, lastError },
        'a message of a webhook was given up'
      )
    }
    try {
      await this.#store.settle(deliveryId, attempts, outcome)
    } catch (err) {
      if (!isReported(err))
        log.error({ err: toLoggable(err), deliveryId }, 'the outcome of a message could not be stored')
    }
    return isAnswered(outcome)
  }
}

function isAnswered(outcome: DeliveryOutcome): boolean | undefined {
  if (outcome.state === 'delivered' || outcome.lastStatus !== null) return true
  const { lastError } = outcome
  return lastError === null || UNASKED.has(lastError) ? undefined : false
}
