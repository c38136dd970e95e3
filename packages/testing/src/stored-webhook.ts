import { randomUUID } from 'node:crypto'
import {
  WEBHOOK_EVENTS,
  type BusyReceivers,
  type ClaimedDelivery,
  type ClaimQuery,
  type DeliveryOutcome,
  type RunChange,
  type StoredRun,
  type StoredWebhook,
  type Stores
} from '@svc/contract'
import { storedRun, textEntry } from './stored-run.ts'

/** What the contract of a store of webhooks needs. */
export type WebhookStores = Pick<Stores, 'runs' | 'log'> & Required<Pick<Stores, 'webhooks'>>

export const DAY = 86_400_000
/** After the clock of any database. */
export const LATER = Date.now() + 300 * DAY

/** Creates a webhook for all runs of an owner. */
export function storedWebhook(fields: Partial<StoredWebhook> = {}): StoredWebhook {
  return {
    webhookId: randomUUID(),
    owner: 'ada',
    runId: null,
    registries: [],
    url: 'https://one.example/hook',
    events: WEBHOOK_EVENTS,
    secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    createdAt: 1_000,
    updatedAt: 1_000,
    ...fields
  }
}

type FailedAttempt = Exclude<DeliveryOutcome, { state: 'delivered' }>

/** The change that fails a run. */
export const failed = {
  status: 'failed',
  at: 4_000,
  error: { code: 'X', message: 'It broke', retryable: false, statusCode: 500 }
} as const

/** A change with the new input of this number. */
export const asks = (runId: string, n: number): RunChange => ({
  status: 'input-required',
  at: 2_000 + n,
  input: {
    inputId: `${runId}.${n}`,
    kind: 'question',
    message: 'What?',
    source: [],
    path: [],
    expiresAt: 9_000,
    answer: null
  }
})

/** What came of an attempt: by default the last one has failed. */
export const given = (outcome: Partial<FailedAttempt> = {}): DeliveryOutcome => ({
  state: 'dead',
  at: LATER,
  lastStatus: 500,
  lastError: null,
  ...outcome
})

/** Adds a webhook. */
export async function addWebhook(
  { webhooks }: WebhookStores,
  fields: Partial<StoredWebhook> = {}
): Promise<StoredWebhook> {
  const webhook = storedWebhook(fields)
  await webhooks.create(webhook, 1_000)
  return webhook
}

/** Begins a run whose record can be changed. */
export async function beginRun({ runs, log }: WebhookStores, fields: Partial<StoredRun> = {}) {
  const run = storedRun(fields)
  await runs.create(run)
  let seq = 0
  const change = async (to: RunChange) => log.append(run.runId, 1, [textEntry(++seq)], to)
  return { run, change }
}

/** Every receiver may get messages. */
export const NOT_BUSY: BusyReceivers = { hosts: [], owners: [] }

/** Claims what is due. */
export async function claimAll(
  { webhooks }: WebhookStores,
  query: Partial<ClaimQuery> = {}
): Promise<ClaimedDelivery[]> {
  return webhooks.claim({ now: LATER, until: LATER + 1, limit: 100, busy: NOT_BUSY, ...query })
}
