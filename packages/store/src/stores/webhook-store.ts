import {
  RUN_ERR_TOO_MANY_WEBHOOKS,
  type StoredWebhook,
  type WebhookEvent,
  type WebhookStore
} from '@svc/contract'
import { pageOf, parseRunCursor } from '@svc/contract/stores'
import { hostOf } from '@svc/registry/engine'
import type { Insertable, Kysely, Selectable, Transaction } from 'kysely'
import { Refused, type Commit } from '../commit.ts'
import { parseStored, type SkipDamaged } from '../encoding/stored-values.ts'
import type { Reports } from '../runs/run-write.ts'
import type { Tables } from '../tables.ts'
import { createOutbox } from './outbox.ts'

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
      events: fromList(row.events) as WebhookEvent[],
      secrets,
      createdAt: row.created_at,
      updatedAt: row.updated_at
    }
  )
}
