import {
  isTerminalStatus,
  type BusyReceivers,
  type RunChange,
  type StoredDelivery,
  type StoredRun,
  type StoredWebhook,
  type WebhookStore
} from '@svc/contract'
import { RUN_ERR_TOO_MANY_WEBHOOKS } from '@svc/contract/errors'
import { formatSeqCursor, pageOf, parseRunCursor, parseSeqCursor } from '@svc/contract/stores'
import { deliveryIdOf, hostOf, reportedChange, type ReportedChange } from '../../webhooks/send-message.ts'

// Messages of all owners; for a newer one the oldest goes.
const MAX_MESSAGES = 10_000

/** Messages of webhooks in process memory, in the order of their events. */
class Outbox {
  readonly #messages = new Map<string, StoredDelivery>()
  // The ids of the messages of each webhook.
  readonly #ofWebhooks = new Map<string, Set<string>>()
  #seq = 0

  get(deliveryId: string): StoredDelivery | undefined {
    return this.#messages.get(deliveryId)
  }

  /** True if a webhook has messages. */
  has(webhookId: string): boolean {
    return this.#ofWebhooks.has(webhookId)
  }

  /** Replaces a message, which keeps its place. */
  put(message: StoredDelivery): void {
    this.#messages.set(message.deliveryId, message)
  }

  /** Returns the message, if there was one. */
  remove(deliveryId: string): StoredDelivery | undefined {
    const found = this.#messages.get(deliveryId)
    if (found === undefined) return undefined
    this.#messages.delete(deliveryId)
    const others = this.#ofWebhooks.get(found.webhookId)
    others?.delete(deliveryId)
    if (others?.size === 0) this.#ofWebhooks.delete(found.webhookId)
    return found
  }

  /** Removes the messages of a webhook. */
  removeOf(webhookId: string): void {
    for (const deliveryId of this.#ofWebhooks.get(webhookId) ?? []) this.remove(deliveryId)
  }

  /** Removes the messages about a run. */
  removeRun(runId: string): void {
    for (const message of this.#messages.values())
      if (message.runId === runId) this.remove(message.deliveryId)
  }

  /** Adds the message of a change for a webhook. */
  add(run: StoredRun, { at }: RunChange, reported: ReportedChange, webhook: StoredWebhook): void {
    const { runId, registry, kind, name, owner, sessionId, metadata } = run
    const { event, detail } = reported
    const deliveryId = deliveryIdOf(reported, webhook.webhookId)
    for (const [oldest] of this.#messages) {
      if (this.#messages.size < MAX_MESSAGES) break
      this.remove(oldest)
    }
    const others = this.#ofWebhooks.get(webhook.webhookId)
    if (others === undefined) this.#ofWebhooks.set(webhook.webhookId, new Set([deliveryId]))
    else others.add(deliveryId)
    this.#messages.set(deliveryId, {
      deliveryId,
      seq: ++this.#seq,
      webhookId: webhook.webhookId,
      owner,
      runId,
      registry,
      kind,
      name,
      sessionId,
      metadata,
      event,
      detail,
      at,
      dueAt: at,
      state: 'pending',
      attempts: 0,
      lastStatus: null,
      lastError: null
    })
  }

  /** The messages that wait for no earlier one of the same run and webhook, the longest due first. */
  claimable(isWanted: (message: StoredDelivery) => boolean): StoredDelivery[] {
    const waited = new Set<string>()
    const found: StoredDelivery[] = []
    for (const message of this.#messages.values()) {
      if (message.state === 'dead') continue
      const key = `${message.runId} ${message.webhookId}`
      if (!waited.has(key) && isWanted(message)) found.push(message)
      waited.add(key)
    }
    return found.sort((a, b) => a.dueAt - b.dueAt || a.seq - b.seq)
  }

  newest(): StoredDelivery[] {
    return [...this.#messages.values()].toReversed()
  }

  /** Removes the messages that have been dead since before a time; returns their number. */
  removeDead(before: number): number {
    let removed = 0
    for (const { deliveryId, state, dueAt } of this.#messages.values())
      if (state === 'dead' && dueAt <= before && this.remove(deliveryId)) removed++
    return removed
  }
}

// Webhooks of all owners and runs.
const MAX_WEBHOOKS = 30_000

/** Webhooks in process memory. */
export interface InProcessWebhooks {
  readonly webhooks: WebhookStore
  /** To be called for each change of a run; undefined while there are no webhooks. */
  report: ((run: StoredRun, change: RunChange) => void) | undefined
}

/** @param maxAge milliseconds that dead messages stay */
export function createInProcessWebhooks(
  { maxAge }: { readonly maxAge: number },
  isLive: (runId: string) => boolean
): InProcessWebhooks {
  const webhooks = new Map<string, StoredWebhook>()
  // Their ids, by the run or the owner that they report.
  const bySubject = new Map<string, Set<string>>()
  // How many report a single run, by their owner.
  const ofRuns = new Map<string, number>()
  const outbox = new Outbox()
  const listeners = new Set<() => void>()

  const of = (subject: string) => Array.from(bySubject.get(subject) ?? [], (id) => webhooks.get(id)!)

  function remove(webhookId: string): boolean {
    const webhook = webhooks.get(webhookId)
    if (webhook === undefined) return false
    const subject = subjectOf(webhook)
    const others = bySubject.get(subject)!
    others.delete(webhookId)
    if (others.size === 0) bySubject.delete(subject)
    if (webhook.runId !== null) countOfRuns(webhook.owner, -1)
    webhooks.delete(webhookId)
    if (webhooks.size === 0) all.report = undefined
    return true
  }

  function countOfRuns(owner: string, change: number): void {
    const count = (ofRuns.get(owner) ?? 0) + change
    if (count === 0) ofRuns.delete(owner)
    else ofRuns.set(owner, count)
  }

  const store: WebhookStore = {
    create(webhook, maxPerOwner) {
      const subject = subjectOf(webhook)
      const others = bySubject.get(subject) ?? new Set()
      const { runId, owner } = webhook
      const isFull = (runId === null ? others.size : (ofRuns.get(owner) ?? 0)) >= maxPerOwner
      if (isFull || webhooks.size >= MAX_WEBHOOKS) throw new RUN_ERR_TOO_MANY_WEBHOOKS()
      bySubject.set(subject, others.add(webhook.webhookId))
      if (runId !== null) countOfRuns(owner, 1)
      webhooks.set(webhook.webhookId, structuredClone(webhook))
      all.report = report
    },
    get: (webhookId) => structuredClone(webhooks.get(webhookId)),
    list({ owner, registries, limit, cursor }) {
      const after = cursor === undefined ? undefined : parseRunCursor(cursor)
      const wanted = registries?.toSorted().join(' ')
      const found = [...webhooks.values()]
        .filter((each) => each.runId === null && (owner === undefined || each.owner === owner))
        .filter((each) => wanted === undefined || each.registries.join(' ') === wanted)
        .filter(({ createdAt, webhookId }) => {
          if (after === undefined || createdAt < after.at) return true
          return createdAt === after.at && webhookId < after.runId
        })
        .sort((a, b) => b.createdAt - a.createdAt || (a.webhookId < b.webhookId ? 1 : -1))
      const { page, nextCursor } = pageOf(found, limit, ({ createdAt, webhookId }) => ({
        at: createdAt,
        runId: webhookId
      }))
      return { webhooks: structuredClone(page), nextCursor }
    },
    change(webhookId, change, at) {
      const earlier = webhooks.get(webhookId)
      if (earlier === undefined) return false
      webhooks.set(webhookId, structuredClone({ ...earlier, ...change, updatedAt: at }))
      return true
    },
    remove(webhookId) {
      outbox.removeOf(webhookId)
      return remove(webhookId)
    },
    claim({ now, until, limit, busy }) {
      const claimed = outbox.claimable((each) => each.dueAt <= now && !isBusy(each, busy)).slice(0, limit)
      return claimed.map((each) => {
        const { url, secrets, events } = webhooks.get(each.webhookId)!
        const delivery = { ...each, dueAt: until, attempts: each.attempts + 1 }
        outbox.put(delivery)
        return { ...structuredClone(delivery), url, secrets: [...secrets], events: [...events] }
      })
    },
    nextAt: (busy) => outbox.claimable((each) => !isBusy(each, busy))[0]?.dueAt,
    settle(deliveryId, attempt, outcome) {
      const found = outbox.get(deliveryId)
      if (outcome.state === 'delivered') {
        outbox.remove(deliveryId)
        if (found !== undefined) forget(found.webhookId)
        return
      }
      if (found?.attempts !== attempt || found.state === 'dead') return
      const { state, at, lastStatus, lastError } = outcome
      outbox.put({ ...found, state, dueAt: at, lastStatus, lastError })
    },
    findDelivery: (deliveryId) => structuredClone(outbox.get(deliveryId)),
    listDeliveries({ owner, registries, state, limit, cursor }) {
      const before = cursor === undefined ? Infinity : parseSeqCursor(cursor)
      const found = outbox
        .newest()
        .filter((each) => each.seq < before && (owner === undefined || each.owner === owner))
        .filter((each) => registries === undefined || registries.includes(each.registry))
        .filter((each) => state === undefined || each.state === state)
      const page = found.slice(0, limit)
      const nextCursor = found.length > limit ? formatSeqCursor(page.at(-1)!.seq) : null
      return { deliveries: structuredClone(page), nextCursor }
    },
    retry(deliveryId, at) {
      const found = outbox.get(deliveryId)
      if (found?.state !== 'dead') return false
      outbox.put({ ...found, state: 'pending', dueAt: at, attempts: 0 })
      return true
    },
    removeRun(runId) {
      for (const { webhookId } of of(`run ${runId}`)) remove(webhookId)
      outbox.removeRun(runId)
    },
    removeOwner(owner, limit) {
      const own = [...webhooks.values()].filter((each) => each.owner === owner).slice(0, limit)
      for (const { webhookId } of own) {
        outbox.removeOf(webhookId)
        remove(webhookId)
      }
      return own.length
    },
    onAdded(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    sweep(now) {
      const removed = outbox.removeDead(now - maxAge)
      const before = webhooks.size
      // Their runs may not have been created yet.
      for (const { webhookId, createdAt } of webhooks.values())
        if (createdAt + maxAge <= now) forget(webhookId)
      return removed + before - webhooks.size
    }
  }

  // Removes the webhook of a run that is over, once its messages are gone.
  function forget(webhookId: string): void {
    const { runId = null } = webhooks.get(webhookId) ?? {}
    if (runId !== null && !isLive(runId) && !outbox.has(webhookId)) remove(webhookId)
  }

  function isBusy({ webhookId, owner }: StoredDelivery, { hosts, owners }: BusyReceivers): boolean {
    if (owners.includes(owner)) return true
    return hosts.length > 0 && hosts.includes(hostOf(webhooks.get(webhookId)!.url))
  }

  function report(run: StoredRun, change: RunChange): void {
    const { runId, owner, registry } = run
    const reported = reportedChange(runId, change)
    const own = of(`run ${runId}`)
    let isAdded = false
    for (const webhook of reported === undefined ? [] : [...own, ...of(`owner ${owner}`)]) {
      const { events, registries } = webhook
      const isMeant = registries.length === 0 || registries.includes(registry)
      if (!isMeant || !events.includes(reported!.event)) continue
      outbox.add(run, change, reported!, webhook)
      isAdded = true
    }
    if (isTerminalStatus(change.status))
      for (const { webhookId } of own) if (!outbox.has(webhookId)) remove(webhookId)
    if (isAdded) for (const listener of listeners) listener()
  }

  const all: InProcessWebhooks = { webhooks: store, report: undefined }
  return all
}

function subjectOf({ runId, owner }: StoredWebhook): string {
  return runId === null ? `owner ${owner}` : `run ${runId}`
}
