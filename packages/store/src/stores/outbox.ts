import type { BusyReceivers, ClaimedDelivery, StoredDelivery, WebhookStore } from '@svc/contract'
import { formatSeqCursor, parseSeqCursor } from '@svc/contract/stores'
import type { ExpressionBuilder, Kysely, Selectable } from 'kysely'
import type { Commit } from '../commit.ts'
import { parseStored, type SkipDamaged } from '../encoding/stored-values.ts'
import type { Tables } from '../tables.ts'

type Row = Selectable<Tables['webhook_delivery']>
type Outbox = Pick<WebhookStore, 'claim' | 'nextAt' | 'settle' | 'findDelivery' | 'listDeliveries' | 'retry'>

/** The messages of webhooks that were not delivered, in SQL. */
export function createOutbox(db: Kysely<Tables>, commit: Commit, skipDamaged: SkipDamaged): Outbox {
  const toDeliveries = (rows: readonly Row[]) =>
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
        const webhooks = trx.selectFrom('webhook').select(['webhook_id', 'url', 'secrets'])
        const found = await webhooks.where('webhook_id', 'in', ids).execute()
        const byId = new Map(found.map((webhook) => [webhook.webhook_id, webhook]))
        return claimed.map((row) => ({ row, webhook: byId.get(row.webhook_id) }))
      })
      return rows
        .flatMap(({ row, webhook }): ClaimedDelivery[] => {
          const [delivery] = toDeliveries([row])
          const secrets = webhook && parseStored<string[]>(webhook.secrets)
          return delivery && webhook && secrets ? [{ ...delivery, url: webhook.url, secrets }] : []
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
function toDelivery(row: Row): StoredDelivery | undefined {
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
