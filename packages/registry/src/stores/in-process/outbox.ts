import type { RunChange, StoredDelivery, StoredRun, StoredWebhook } from '@svc/contract'
import { deliveryIdOf, type ReportedChange } from '../../webhooks/webhook-event.ts'

// Messages of all owners; for a newer one the oldest goes.
const MAX_MESSAGES = 10_000

/** Messages of webhooks in process memory, in the order of their events. */
export class Outbox {
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
      ...{ deliveryId, seq: ++this.#seq, webhookId: webhook.webhookId, owner, runId, registry, kind, name },
      ...{ sessionId, metadata, event, detail, at, dueAt: at, state: 'pending', attempts: 0 },
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
