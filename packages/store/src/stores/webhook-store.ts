import {
  type BusyReceivers,
  type ClaimedDelivery,
  type StoredDelivery,
  type StoredWebhook,
  type ReportedEvent,
  type WebhookStore
} from '@svc/contract'
import { RUN_ERR_TOO_MANY_WEBHOOKS } from '@svc/contract/errors'
import { formatSeqCursor, pageOf, parseRunCursor, parseSeqCursor } from '@svc/contract/stores'
import { hostOf } from '@svc/registry/engine'
import type { ExpressionBuilder, Insertable, Kysely, Selectable, Transaction } from 'kysely'
import { Refused, type Commit } from '../commit.ts'
import { parseStored, type SkipDamaged } from '../encoding/values.ts'
import type { Reports } from '../runs/run-write.ts'
import type { Tables } from '../tables.ts'

type MessageRow = Selectable<Tables['webhook_delivery']>
type Outbox = Pick<WebhookStore, 'claim' | 'nextAt' | 'settle' | 'findDelivery' | 'listDeliveries' | 'retry'>

/** The messages of webhooks that were not delivered, in SQL. */
function createOutbox(db: Kysely<Tables>, commit: Commit, skipDamaged: SkipDamaged): Outbox {
  const toDeliveries = (rows: readonly MessageRow[]) =>
    rows.flatMap((row) => toDelivery(row) ?? skipDamaged('webhook_delivery', row.delivery_id) ?? [])
  return {
    async claim({ now, until, limit, busy }) {
      const rows = await commit.writeAmongOthers(async (trx) => {
        // Another process may claim the same ones at the same time: they are due no more when this one has their locks.
        const claimed = await trx
          .updateTable('webhook_delivery')
          .set((set) => ({ due_at: until, attempts: set('attempts', '+', 1) }))
          .where('dead', '=', 0)
          .where('due_at', '<=', now)
          .where('seq', 'in', (from) =>
            from
              .selectFrom('webhook_delivery as d')
              .select('d.seq')
              .where('d.due_at', '<=', now)
              .where((is) => isClaimable(is, busy))
              .orderBy('d.due_at')
              .orderBy('d.seq')
              .limit(limit)
              .$if(commit.isShared, (all) => all.forUpdate('d').skipLocked())
          )
          .returningAll()
          .execute()
        const ids = [...new Set(claimed.map((row) => row.webhook_id))]
        const webhooks = trx.selectFrom('webhook').select(['webhook_id', 'url', 'secrets', 'events'])
        const found = await webhooks.where('webhook_id', 'in', ids).execute()
        const byId = new Map(found.map((webhook) => [webhook.webhook_id, webhook]))
        return claimed.map((row) => ({ row, webhook: byId.get(row.webhook_id) }))
      })
      return rows
        .flatMap(({ row, webhook }): ClaimedDelivery[] => {
          const [delivery] = toDeliveries([row])
          const secrets = webhook && parseStored<string[]>(webhook.secrets)
          if (delivery === undefined || webhook === undefined || secrets === undefined) return []
          const events = fromList(webhook.events) as ReportedEvent[]
          return [{ ...delivery, url: webhook.url, secrets, events }]
        })
        .toSorted((a, b) => a.seq - b.seq)
    },
    async nextAt(busy) {
      const first = db
        .selectFrom('webhook_delivery as d')
        .select('d.due_at')
        .where((is) => isClaimable(is, busy))
        .orderBy('d.due_at')
        .limit(1)
      return (await first.executeTakeFirst())?.due_at
    },
    async settle(deliveryId, attempt, outcome) {
      await commit.writeAmongOthers(async (trx) => {
        if (outcome.state === 'delivered') {
          await trx.deleteFrom('webhook_delivery').where('delivery_id', '=', deliveryId).execute()
          return
        }
        const { state, at, lastStatus, lastError } = outcome
        await trx
          .updateTable('webhook_delivery')
          .set({
            due_at: at,
            dead: state === 'dead' ? 1 : 0,
            last_status: lastStatus,
            last_error: lastError
          })
          .where('delivery_id', '=', deliveryId)
          .where('attempts', '=', attempt)
          .where('dead', '=', 0)
          .execute()
      })
    },
    async findDelivery(deliveryId) {
      const row = db.selectFrom('webhook_delivery').selectAll().where('delivery_id', '=', deliveryId)
      return toDeliveries(await row.execute())[0]
    },
    async listDeliveries({ owner, registries, state, limit, cursor }) {
      const before = cursor === undefined ? undefined : parseSeqCursor(cursor)
      const rows = await db
        .selectFrom('webhook_delivery')
        .selectAll()
        .$if(owner !== undefined, (all) => all.where('owner', '=', owner!))
        .$if(registries !== undefined, (all) => all.where('registry', 'in', registries!))
        .$if(state !== undefined, (all) => all.where('dead', '=', state === 'dead' ? 1 : 0))
        .$if(before !== undefined, (all) => all.where('seq', '<', before!))
        .orderBy('seq', 'desc')
        .limit(limit + 1)
        .execute()
      const page = rows.slice(0, limit)
      const nextCursor = rows.length > limit ? formatSeqCursor(page.at(-1)!.seq) : null
      return { deliveries: toDeliveries(page), nextCursor }
    },
    async retry(deliveryId, at) {
      const { numUpdatedRows } = await commit.write((trx) =>
        trx
          .updateTable('webhook_delivery')
          .set({ dead: 0, due_at: at, attempts: 0 })
          .where('delivery_id', '=', deliveryId)
          .where('dead', '=', 1)
          .executeTakeFirst()
      )
      return numUpdatedRows === 1n
    }
  }
}

type Deliveries = Tables & { d: Tables['webhook_delivery'] }

// It is not dead, its host and its owner are not busy, and it waits for no earlier message of the same run and webhook.
function isClaimable(is: ExpressionBuilder<Deliveries, 'd'>, { hosts, owners }: BusyReceivers) {
  const receiver = is
    .selectFrom('webhook as w')
    .select('w.webhook_id')
    .whereRef('w.webhook_id', '=', 'd.webhook_id')
    .$if(hosts.length > 0, (all) => all.where('w.host', 'not in', hosts))
  const earlier = is
    .selectFrom('webhook_delivery as e')
    .select('e.seq')
    .whereRef('e.webhook_id', '=', 'd.webhook_id')
    .whereRef('e.run_id', '=', 'd.run_id')
    .where('e.dead', '=', 0)
    .whereRef('e.seq', '<', 'd.seq')
  const hasShare = owners.length === 0 ? [] : [is('d.owner', 'not in', owners)]
  return is.and([is('d.dead', '=', 0), ...hasShare, is.exists(receiver), is.not(is.exists(earlier))])
}

// Undefined if it is damaged.
function toDelivery(row: MessageRow): StoredDelivery | undefined {
  const metadata =
    row.metadata === null ? null : parseStored<NonNullable<StoredDelivery['metadata']>>(row.metadata)
  const detail = row.detail === null ? null : parseStored<unknown>(row.detail)
  if (metadata === undefined || detail === undefined) return undefined
  return {
    deliveryId: row.delivery_id,
    seq: row.seq,
    webhookId: row.webhook_id,
    owner: row.owner,
    runId: row.run_id,
    registry: row.registry,
    kind: row.kind,
    name: row.name,
    sessionId: row.session_id,
    metadata,
    event: row.event,
    detail,
    at: row.at,
    state: row.dead === 1 ? 'dead' : 'pending',
    dueAt: row.due_at,
    attempts: row.attempts,
    lastStatus: row.last_status,
    lastError: row.last_error
  }
}

type Row = Selectable<Tables['webhook']>

/** What a store of webhooks needs. */
export interface WebhookParts {
  readonly db: Kysely<Tables>
  readonly commit: Commit
  readonly reports: Reports
  readonly skipDamaged: SkipDamaged
  readonly sweep: WebhookStore['sweep']
}

/** Webhooks and the outbox of their messages, in SQL. What ends runs adds the messages. */
export function createWebhookStore({ db, commit, reports, skipDamaged, sweep }: WebhookParts): WebhookStore {
  const toWebhooks = (rows: readonly Row[]) =>
    rows.flatMap((row) => toWebhook(row) ?? skipDamaged('webhook', row.webhook_id) ?? [])
  return {
    ...createOutbox(db, commit, skipDamaged),
    async create(webhook, maxPerOwner) {
      // Before: a run may end as soon as it is stored.
      reports.mayReport = true
      await commit.write(async (trx) => {
        await requirePlace(trx, webhook, maxPerOwner)
        await trx.insertInto('webhook').values(toRow(webhook)).execute()
      })
    },
    async get(webhookId) {
      const row = db.selectFrom('webhook').selectAll().where('webhook_id', '=', webhookId)
      return toWebhooks(await row.execute())[0]
    },
    async list({ owner, registries, limit, cursor }) {
      const after = cursor === undefined ? undefined : parseRunCursor(cursor)
      const rows = await db
        .selectFrom('webhook')
        .selectAll()
        .where('run_id', 'is', null)
        .$if(owner !== undefined, (all) => all.where('owner', '=', owner!))
        .$if(registries !== undefined, (all) => all.where('registries', '=', toList(registries!.toSorted())))
        .$if(after !== undefined, (all) =>
          all.where(({ eb, refTuple, tuple }) =>
            eb(refTuple('created_at', 'webhook_id'), '<', tuple(after!.at, after!.runId))
          )
        )
        .orderBy('created_at', 'desc')
        .orderBy('webhook_id', 'desc')
        .limit(limit + 1)
        .execute()
      const { page, nextCursor } = pageOf(rows, limit, (row) => ({
        at: row.created_at,
        runId: row.webhook_id
      }))
      return { webhooks: toWebhooks(page), nextCursor }
    },
    async change(webhookId, { url, events, secrets }, at) {
      const { numUpdatedRows } = await commit.write((trx) =>
        trx
          .updateTable('webhook')
          .set({
            updated_at: at,
            ...(url !== undefined && { url, host: hostOf(url) }),
            ...(events && { events: toList(events) }),
            ...(secrets && { secrets: JSON.stringify(secrets) })
          })
          .where('webhook_id', '=', webhookId)
          .executeTakeFirst()
      )
      return numUpdatedRows === 1n
    },
    async remove(webhookId) {
      return commit.write(async (trx) => {
        await trx.deleteFrom('webhook_delivery').where('webhook_id', '=', webhookId).execute()
        const gone = trx.deleteFrom('webhook').where('webhook_id', '=', webhookId)
        return (await gone.executeTakeFirst()).numDeletedRows === 1n
      })
    },
    async removeRun(runId) {
      await commit.write(async (trx) => {
        await trx.deleteFrom('webhook_delivery').where('run_id', '=', runId).execute()
        await trx.deleteFrom('webhook').where('subject', '=', `run ${runId}`).execute()
      })
    },
    async removeOwner(owner, limit) {
      return commit.write(async (trx) => {
        const own = trx.selectFrom('webhook').select('webhook_id').where('owner', '=', owner)
        const ids = (await own.limit(limit).execute()).map(({ webhook_id }) => webhook_id)
        await trx.deleteFrom('webhook_delivery').where('webhook_id', 'in', ids).execute()
        await trx.deleteFrom('webhook').where('webhook_id', 'in', ids).execute()
        return ids.length
      })
    },
    onAdded: (listener) => reports.on(listener),
    sweep
  }
}

async function requirePlace(
  trx: Transaction<Tables>,
  { owner, runId }: StoredWebhook,
  maxPerOwner: number
): Promise<void> {
  const { count } = await trx
    .selectFrom('webhook')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('owner', '=', owner)
    .where('run_id', runId === null ? 'is' : 'is not', null)
    .executeTakeFirstOrThrow()
  if (count >= maxPerOwner) throw new Refused(new RUN_ERR_TOO_MANY_WEBHOOKS())
}

// Between spaces, so that one of them can be found as a text.
function toList(values: readonly string[]): string {
  return values.length === 0 ? '' : ` ${values.join(' ')} `
}

function fromList(list: string): string[] {
  return list === '' ? [] : list.trim().split(' ')
}

function toRow(webhook: StoredWebhook): Insertable<Tables['webhook']> {
  const { webhookId, owner, runId, registries, url, events, secrets, createdAt, updatedAt } = webhook
  return {
    webhook_id: webhookId,
    subject: runId === null ? `owner ${owner}` : `run ${runId}`,
    owner,
    run_id: runId,
    registries: toList(registries),
    url,
    host: hostOf(url),
    events: toList(events),
    secrets: JSON.stringify(secrets),
    created_at: createdAt,
    updated_at: updatedAt
  }
}

// Undefined if it is damaged.
function toWebhook(row: Row): StoredWebhook | undefined {
  const secrets = parseStored<string[]>(row.secrets)
  return (
    secrets && {
      webhookId: row.webhook_id,
      owner: row.owner,
      runId: row.run_id,
      registries: fromList(row.registries),
      url: row.url,
      events: fromList(row.events) as ReportedEvent[],
      secrets,
      createdAt: row.created_at,
      updatedAt: row.updated_at
    }
  )
}
