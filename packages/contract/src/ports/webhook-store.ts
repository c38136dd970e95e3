import type { RunMetadata } from '../part.ts'
import type { DeliveryState, ReportedEvent, WebhookEvent } from '../webhook.ts'
import type { Awaitable } from '../awaitable.ts'
import type { RunnableKey } from '../names.ts'

/** A webhook as a store keeps it. Times are milliseconds since the epoch. */
export interface StoredWebhook {
  readonly webhookId: string
  readonly owner: string
  /** The run that it reports; null if it reports all runs of its owner. */
  readonly runId: string | null
  /** The ids of the registries whose runs it reports; none: all. */
  readonly registries: readonly string[]
  readonly url: string
  /** Those of sessions have those of runs beside them, which add the messages. */
  readonly events: readonly ReportedEvent[]
  /** None: messages are signed with the secrets of the service. */
  readonly secrets: readonly string[]
  readonly createdAt: number
  readonly updatedAt: number
}

/** Selects webhooks for all runs of an owner; they are listed newest first. */
export interface WebhookQuery {
  owner?: string
  /** Only those that report exactly these registries. */
  registries?: readonly string[]
  /** At most this many; 1–1,000. */
  limit: number
  /** The `nextCursor` of the previous page, or `formatRunCursor` of a webhook on it, by its `createdAt` and its id. */
  cursor?: string
}

/** One page of webhooks; `nextCursor` is null on the last page. */
export interface WebhookPage {
  webhooks: StoredWebhook[]
  nextCursor: string | null
}

/** A message in the outbox. Times are milliseconds since the epoch. */
export interface StoredDelivery extends RunnableKey {
  /** The same for the same event of a run, however often a store writes it. */
  readonly deliveryId: string
  /** Orders the messages of a store. */
  readonly seq: number
  readonly webhookId: string
  readonly owner: string
  readonly runId: string
  readonly sessionId: string
  readonly metadata: RunMetadata | null
  readonly event: WebhookEvent
  /** What the event is about: the error of a failed run, or the input that is required; null if it completed. */
  readonly detail: unknown
  readonly at: number
  readonly state: DeliveryState
  /** When it is sent next. */
  readonly dueAt: number
  /** How often it was claimed. */
  readonly attempts: number
  readonly lastStatus: number | null
  readonly lastError: string | null
}

/** A message that this process is to send now. */
export interface ClaimedDelivery extends StoredDelivery {
  readonly url: string
  readonly secrets: readonly string[]
  /** Those of its webhook, as it is now. */
  readonly events: readonly ReportedEvent[]
}

/** To whom nothing more is to be sent now. */
export interface BusyReceivers {
  /** Hosts of receivers, with their ports. */
  readonly hosts: readonly string[]
  /** Owners of webhooks. */
  readonly owners: readonly string[]
}

/** Selects messages that are due. */
export interface ClaimQuery {
  /** Milliseconds since the epoch. */
  readonly now: number
  /** When others may claim what this process has not settled. */
  readonly until: number
  /** At most this many; 1–1,000. */
  readonly limit: number
  readonly busy: BusyReceivers
}

/** What came of an attempt. `dead`: it is sent again only after `retry`. */
export type DeliveryOutcome =
  | { readonly state: 'delivered' }
  | {
      readonly state: DeliveryState
      /** When it is sent next, or was given up. */
      readonly at: number
      readonly lastStatus: number | null
      readonly lastError: string | null
    }

/** Selects messages; they are listed newest first. */
export interface DeliveryQuery {
  owner?: string
  /** Only those of runs of these registries. */
  registries?: readonly string[]
  state?: DeliveryState
  /** At most this many; 1–1,000. */
  limit: number
  /** The `nextCursor` of the previous page, or `formatSeqCursor` of a message on it. */
  cursor?: string
}

/** One page of messages; `nextCursor` is null on the last page. */
export interface DeliveryPage {
  deliveries: StoredDelivery[]
  nextCursor: string | null
}

/**
 * Keeps webhooks, and an outbox of their messages. It belongs to a `StreamLog`: the append that completes or fails a run, or has a new
 * input, adds in the same transaction a message for each webhook that reports it.
 */
export interface WebhookStore {
  /**
   * Adds a webhook. One of a run may be added before the run is.
   * @throws RUN_ERR_TOO_MANY_WEBHOOKS if the owner already has `maxPerOwner` webhooks for all runs, or for single runs, as this one is, or
   * the store is full
   */
  create(webhook: StoredWebhook, maxPerOwner: number): Awaitable<void>
  get(webhookId: string): Awaitable<StoredWebhook | undefined>
  /** Those for all runs of an owner, newest first by `createdAt`, then by id. @throws REG_ERR_BAD_CURSOR */
  list(query: WebhookQuery): Awaitable<WebhookPage>
  /** Changes a webhook; its messages that wait are sent as it is now. False if there is none. */
  change(
    webhookId: string,
    change: Partial<Pick<StoredWebhook, 'url' | 'events' | 'secrets'>>,
    at: number
  ): Awaitable<boolean>
  /** Removes a webhook with its messages; false if there is none. */
  remove(webhookId: string): Awaitable<boolean>
  /**
   * Claims messages that are due, the longest due first, and counts an attempt of each. A message waits until the earlier ones of the same
   * run and webhook are delivered or dead.
   */
  claim(query: ClaimQuery): Awaitable<ClaimedDelivery[]>
  /** The next time at which a message can be claimed; undefined if there is none. */
  nextAt(busy: BusyReceivers): Awaitable<number | undefined>
  /** Records what came of an attempt. Delivered messages are removed; anything else counts only for the latest attempt. */
  settle(deliveryId: string, attempt: number, outcome: DeliveryOutcome): Awaitable<void>
  findDelivery(deliveryId: string): Awaitable<StoredDelivery | undefined>
  /** Newest first. @throws REG_ERR_BAD_CURSOR */
  listDeliveries(query: DeliveryQuery): Awaitable<DeliveryPage>
  /** Sends a dead message again, as if for the first time; false if it is not dead, or missing. */
  retry(deliveryId: string, at: number): Awaitable<boolean>
  /** Removes the messages about a run, and its own webhooks. They outlive a run that only its retention removes. */
  removeRun(runId: string): Awaitable<void>
  /** Removes at most `limit` webhooks of an owner, those of single runs too, with their messages; returns their number. */
  removeOwner(owner: string, limit: number): Awaitable<number>
  /** Calls the listener when this process has added messages, until the returned function is called. */
  onAdded(listener: () => void): () => void
  /**
   * Removes messages that have been dead for as long as finished runs are kept, and webhooks of runs that are over and whose messages are
   * gone; returns their number.
   */
  sweep(now: number): Awaitable<number>
}
