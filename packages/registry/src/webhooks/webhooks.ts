import {
  ANONYMOUS,
  defined,
  randomId,
  timeOf,
  WEBHOOK_EVENTS,
  type DeliveryQuery,
  type NewWebhook,
  type Principal,
  type Redact,
  type StoredDelivery,
  type StoredRun,
  type StoredWebhook,
  type Webhook,
  type WebhookChange,
  type WebhookDelivery,
  type WebhookQuery,
  type WebhookStore
} from '@svc/contract'
import {
  RUN_ERR_DELIVERY_NOT_DEAD,
  RUN_ERR_DELIVERY_NOT_FOUND,
  RUN_ERR_WEBHOOK_NO_SECRET,
  RUN_ERR_WEBHOOK_NOT_FOUND,
  RUN_ERR_WEBHOOKS_NOT_KEPT
} from '@svc/contract/errors'
import { ENGINE_DEFAULTS, type EngineLimits, type WebhookOptions } from '../options.ts'
import { askedEvents } from './session-events.ts'
import { badWebhook, newSecret, requireWebhook } from './send-message.ts'
import { DueMessages, type DueRules, type WebhookHost } from './due-messages.ts'

/** Whose runs a new webhook reports. */
export interface WebhookOwner {
  /** Default anonymous. */
  readonly principal?: Principal | undefined
  /** The ids of the registries whose runs it reports; default all. */
  readonly registries?: readonly string[] | undefined
}

/** A webhook, and what decides who reaches it. */
export interface OwnedWebhook extends Webhook {
  readonly owner: string
  readonly registries: readonly string[]
  /** If it reports one run only. */
  readonly runId?: string
}

/** A message, and what decides who reaches it. */
export interface OwnedDelivery extends WebhookDelivery {
  readonly owner: string
  readonly registry: string
  /** Orders messages. */
  readonly seq: number
}

/** A checked webhook of a run that is about to start. */
export type PreparedWebhook = Pick<StoredWebhook, 'url' | 'events' | 'secrets'>

type WebhookLimits = Pick<EngineLimits, 'maxWebhooksPerOwner' | 'maxRunWebhooksPerOwner'>

/** Webhooks and their outbox: `fastify.webhooks`. */
export class Webhooks {
  readonly #host: WebhookHost
  readonly #store: WebhookStore | undefined
  readonly #rules: DueRules
  readonly #maxPerOwner: number
  readonly #maxOfRuns: number
  readonly #due: DueMessages | undefined

  constructor(host: WebhookHost, options: WebhookOptions = {}, limits: WebhookLimits = {}) {
    this.#host = host
    this.#store = host.stores.webhooks
    this.#rules = { ...ENGINE_DEFAULTS.webhooks, ...defined(options) }
    this.#maxPerOwner = limits.maxWebhooksPerOwner ?? ENGINE_DEFAULTS.maxWebhooksPerOwner
    this.#maxOfRuns = limits.maxRunWebhooksPerOwner ?? ENGINE_DEFAULTS.maxRunWebhooksPerOwner
    this.#due = this.#store && new DueMessages(host, this.#store, this.#rules)
  }

  /**
   * Creates a webhook for all runs of an owner. Only its result has the secrets.
   * @throws RUN_ERR_BAD_WEBHOOK, RUN_ERR_WEBHOOK_URL, RUN_ERR_TOO_MANY_WEBHOOKS, RUN_ERR_WEBHOOKS_NOT_KEPT, RUN_ERR_STORE
   */
  async create(
    given: NewWebhook,
    { principal = ANONYMOUS, registries = [] }: WebhookOwner = {}
  ): Promise<OwnedWebhook & { readonly secrets: readonly string[] }> {
    const store = this.#require()
    const { url, events = WEBHOOK_EVENTS, secrets = [newSecret()] } = await this.#check(given)
    const now = timeOf(this.#host.stores)
    const webhook: StoredWebhook = {
      webhookId: randomId(),
      owner: principal.sub,
      runId: null,
      registries: registries.toSorted(),
      url,
      events,
      secrets,
      createdAt: now,
      updatedAt: now
    }
    await store.create(webhook, this.#maxPerOwner)
    this.begin()
    return { ...toOwned(webhook), secrets }
  }

  /** Undefined if there is none. @throws RUN_ERR_WEBHOOKS_NOT_KEPT, RUN_ERR_STORE */
  async get(webhookId: string): Promise<OwnedWebhook | undefined> {
    const stored = await this.#require().get(webhookId)
    return stored && toOwned(stored)
  }

  /** Those for all runs of an owner, newest first. @throws REG_ERR_BAD_CURSOR, RUN_ERR_WEBHOOKS_NOT_KEPT, RUN_ERR_STORE */
  async list(query: WebhookQuery): Promise<{ webhooks: OwnedWebhook[]; nextCursor: string | null }> {
    const { webhooks, nextCursor } = await this.#require().list(query)
    return { webhooks: webhooks.map(toOwned), nextCursor }
  }

  /** Changes a webhook; new secrets replace all earlier ones. @throws RUN_ERR_WEBHOOK_NOT_FOUND, and the errors of `create` */
  async update(webhookId: string, given: WebhookChange): Promise<OwnedWebhook> {
    const store = this.#require()
    const change = await requireWebhook(given, this.#rules)
    const isChanged = await store.change(webhookId, change, timeOf(this.#host.stores))
    const webhook = isChanged ? await store.get(webhookId) : undefined
    if (webhook === undefined) throw new RUN_ERR_WEBHOOK_NOT_FOUND(webhookId)
    return toOwned(webhook)
  }

  /** Removes a webhook with its messages; false if there is none. @throws RUN_ERR_WEBHOOKS_NOT_KEPT, RUN_ERR_STORE */
  async remove(webhookId: string): Promise<boolean> {
    return this.#require().remove(webhookId)
  }

  /** A message that was not delivered; undefined if there is none. @throws RUN_ERR_WEBHOOKS_NOT_KEPT, RUN_ERR_STORE */
  async findDelivery(deliveryId: string): Promise<OwnedDelivery | undefined> {
    const found = await this.#require().findDelivery(deliveryId)
    return found && toDelivery(found)
  }

  /** Messages that were not delivered, newest first. @throws REG_ERR_BAD_CURSOR, RUN_ERR_WEBHOOKS_NOT_KEPT, RUN_ERR_STORE */
  async listDeliveries(
    query: DeliveryQuery
  ): Promise<{ deliveries: OwnedDelivery[]; nextCursor: string | null }> {
    const { deliveries, nextCursor } = await this.#require().listDeliveries(query)
    return { deliveries: deliveries.map(toDelivery), nextCursor }
  }

  /**
   * Sends a dead message again, with all its attempts.
   * @throws RUN_ERR_DELIVERY_NOT_FOUND, RUN_ERR_DELIVERY_NOT_DEAD, RUN_ERR_WEBHOOKS_NOT_KEPT, RUN_ERR_STORE
   */
  async retry(deliveryId: string): Promise<void> {
    const store = this.#require()
    if (!(await store.retry(deliveryId, timeOf(this.#host.stores)))) {
      const found = await store.findDelivery(deliveryId)
      throw new (found ? RUN_ERR_DELIVERY_NOT_DEAD : RUN_ERR_DELIVERY_NOT_FOUND)(deliveryId)
    }
    this.begin()
    this.#due!.look()
  }

  /**
   * Checks the webhook of a run that is about to start; the engine calls it.
   * @throws RUN_ERR_WEBHOOK_NO_SECRET, and the errors of `create`
   */
  async prepare(given: NewWebhook, redact?: Redact): Promise<PreparedWebhook> {
    this.#require()
    const { url, events = WEBHOOK_EVENTS, secrets = [] } = await this.#check(given)
    if (secrets.length === 0 && this.#rules.secrets.length === 0) throw new RUN_ERR_WEBHOOK_NO_SECRET()
    if (redact !== undefined && redact(url) !== url)
      throw badWebhook([{ path: 'url', message: 'must not have a key of a model provider' }])
    return { url, events, secrets }
  }

  /**
   * Adds the webhook of a run before the store has the run; the engine calls it. Returns what removes it again.
   * @throws RUN_ERR_TOO_MANY_WEBHOOKS, and the errors of `create`
   */
  async add(
    { runId, owner, registry, createdAt }: StoredRun,
    prepared: PreparedWebhook
  ): Promise<() => Promise<void>> {
    const store = this.#require()
    const webhookId = randomId()
    const times = { createdAt, updatedAt: createdAt }
    await store.create(
      { webhookId, owner, runId, registries: [registry], ...prepared, ...times },
      this.#maxOfRuns
    )
    this.begin()
    return async () => void (await store.remove(webhookId))
  }

  /** Sends what is due from now on; the engine calls it at its start. */
  begin(): void {
    this.#due?.begin()
  }

  /** Sends nothing more; the engine calls it when it closes. */
  async close(): Promise<void> {
    await this.#due?.close()
  }

  #require(): WebhookStore {
    if (this.#store === undefined) throw new RUN_ERR_WEBHOOKS_NOT_KEPT()
    return this.#store
  }

  async #check(given: NewWebhook): Promise<NewWebhook> {
    if (given.url === undefined) throw badWebhook([{ path: 'url', message: 'is required' }])
    return requireWebhook(given, this.#rules)
  }
}

function toOwned(stored: StoredWebhook): OwnedWebhook {
  const { webhookId, owner, runId, registries, url, events, createdAt, updatedAt } = stored
  const times = { createdAt: toTime(createdAt), updatedAt: toTime(updatedAt) }
  return {
    webhookId,
    owner,
    registries,
    url,
    events: askedEvents(events),
    ...times,
    ...(runId !== null && { runId })
  }
}

function toDelivery(stored: StoredDelivery): OwnedDelivery {
  const { deliveryId, webhookId, runId, kind, name, event, state, attempts, owner, registry, seq } = stored
  const { at, dueAt, lastStatus, lastError } = stored
  return {
    deliveryId,
    webhookId,
    runId,
    kind,
    name,
    event,
    state,
    attempts,
    owner,
    registry,
    seq,
    at: toTime(at),
    ...(state === 'pending' && { nextAt: toTime(dueAt) }),
    ...(lastStatus !== null && { lastStatus }),
    ...(lastError !== null && { lastError })
  }
}

const toTime = (at: number) => new Date(at).toISOString()
