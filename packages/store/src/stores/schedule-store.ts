import {
  type RunnableKey,
  type SchedulePlan,
  type ScheduleState,
  type ScheduleStore,
  type StoredSchedule
} from '@svc/contract'
import { RUN_ERR_TOO_MANY_SCHEDULES } from '@svc/contract/errors'
import { pageOf, parseRunCursor } from '@svc/contract/stores'
import { sql, type Insertable, type Kysely, type Selectable, type Transaction } from 'kysely'
import type { Claimant, Dispatch } from '../backend.ts'
import { Refused, type Commit } from '../commit.ts'
import { parseStored, type SkipDamaged } from '../encoding/values.ts'
import { putQueued } from '../rows/queued-start.ts'
import type { Tables } from '../tables.ts'

type Row = Selectable<Tables['schedule']>

/** What a store of schedules needs. */
export interface ScheduleParts {
  readonly db: Kysely<Tables>
  readonly commit: Commit
  readonly claimant: Claimant
  /** Tells other processes of schedules, and begins the runs that they queue. */
  readonly dispatch: Dispatch
  readonly skipDamaged: SkipDamaged
  readonly sweep: ScheduleStore['sweep']
}

/** Schedules, in SQL. */
export function createScheduleStore(parts: ScheduleParts): ScheduleStore {
  const { db, commit, claimant, dispatch, skipDamaged, sweep } = parts
  const toSchedules = (rows: readonly Row[]) =>
    rows.flatMap((row) => toSchedule(row) ?? skipDamaged('schedule', row.schedule_id) ?? [])
  return {
    async create(schedule, maxPerOwner) {
      await commit.write(async (trx) => {
        await requirePlace(trx, schedule.owner, maxPerOwner)
        await trx.insertInto('schedule').values(toRow(schedule)).execute()
      })
      dispatch.planned()
    },
    async get(scheduleId) {
      const row = db.selectFrom('schedule').selectAll().where('schedule_id', '=', scheduleId)
      return toSchedules(await row.execute())[0]
    },
    async list({ owner, limit, cursor }) {
      const after = cursor === undefined ? undefined : parseRunCursor(cursor)
      const rows = await db
        .selectFrom('schedule')
        .selectAll()
        .$if(owner !== undefined, (all) => all.where('owner', '=', owner!))
        .$if(after !== undefined, (all) =>
          all.where(({ eb, refTuple, tuple }) =>
            eb(refTuple('created_at', 'schedule_id'), '<', tuple(after!.at, after!.runId))
          )
        )
        .orderBy('created_at', 'desc')
        .orderBy('schedule_id', 'desc')
        .limit(limit + 1)
        .execute()
      const { page, nextCursor } = pageOf(rows, limit, (row) => ({
        at: row.created_at,
        runId: row.schedule_id
      }))
      return { schedules: toSchedules(page), nextCursor }
    },
    async change(schedule, maxPerOwner) {
      const { scheduleId, owner, revision, endedAt } = schedule
      const isChanged = await commit.write(async (trx) => {
        const stored = trx.selectFrom('schedule').select('ended_at').where('schedule_id', '=', scheduleId)
        const earlier = await stored.where('revision', '=', revision - 1).executeTakeFirst()
        if (earlier === undefined) return false
        if (earlier.ended_at !== null && endedAt === null) await requirePlace(trx, owner, maxPerOwner)
        await trx.updateTable('schedule').set(toRow(schedule)).where('schedule_id', '=', scheduleId).execute()
        return true
      })
      if (isChanged) dispatch.planned()
      return isChanged
    },
    async remove(scheduleId) {
      return commit.write(async (trx) => {
        const gone = trx.deleteFrom('schedule').where('schedule_id', '=', scheduleId)
        return (await gone.executeTakeFirst()).numDeletedRows === 1n
      })
    },
    async nextAt(runnables) {
      if (runnables.length === 0) return undefined
      const first = db
        .selectFrom('schedule as s')
        .select(({ fn }) => fn.min('s.next_at').as('next_at'))
        .where(isOfKnown)
      const { rows } = await sql<{ next_at: number | null }>`
        with known(registry, kind, name) as (values ${keysOf(runnables)})
        select min(next_at) as next_at from (select (${first}) as next_at from known) firsts`.execute(db)
      return rows[0]?.next_at ?? undefined
    },
    async listDue({ runnables, now, limit }) {
      if (runnables.length === 0) return []
      const due = db
        .selectFrom('schedule as s')
        .selectAll()
        .where('s.next_at', '<=', now)
        .where(isOfAny(runnables))
        .orderBy('s.next_at')
        .limit(limit)
      return toSchedules(await due.execute())
    },
    async fire({ scheduleId, nextAt, revision }, state, start) {
      const isFired = await commit.writeAmongOthers(async (trx) => {
        const { numUpdatedRows } = await trx
          .updateTable('schedule')
          .set({ ...toStateRow(state), revision: revision + 1 })
          .where('schedule_id', '=', scheduleId)
          .where('revision', '=', revision)
          .where('next_at', '=', nextAt)
          .executeTakeFirst()
        if (numUpdatedRows === 0n) return false
        if (start !== undefined) await putQueued(trx, start, claimant.isShared)
        return true
      })
      if (isFired && start !== undefined) dispatch.left(start.run.runId)
      return isFired
    },
    async markOverdue(before, code) {
      await commit.writeAmongOthers((trx) =>
        trx
          .updateTable('schedule')
          .set({ last_error: code })
          .where('next_at', '<', before)
          .where(sql<boolean>`(last_error is null or last_error <> ${code})`)
          .execute()
      )
    },
    ...(dispatch.onPlanned && { onPlanned: dispatch.onPlanned }),
    sweep
  }
}

// Worded like the condition of a partial index, so that SQLite uses it.
const isOfKnown = sql<boolean>`s.registry = known.registry and s.kind = known.kind and s.name = known.name and s.next_at is not null`

function keysOf(runnables: readonly RunnableKey[]) {
  return sql.join(
    runnables.map(
      ({ registry, kind, name }) =>
        sql`(cast(${registry} as text), cast(${kind} as text), cast(${name} as text))`
    )
  )
}

function isOfAny(runnables: readonly RunnableKey[]) {
  return sql<boolean>`s.next_at is not null and (s.registry, s.kind, s.name) in (values ${keysOf(runnables)})`
}

async function requirePlace(trx: Transaction<Tables>, owner: string, maxPerOwner: number): Promise<void> {
  const { count } = await trx
    .selectFrom('schedule')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('owner', '=', owner)
    .where('ended_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (count >= maxPerOwner) throw new Refused(new RUN_ERR_TOO_MANY_SCHEDULES())
}

function toRow(schedule: StoredSchedule): Insertable<Tables['schedule']> {
  return {
    schedule_id: schedule.scheduleId,
    registry: schedule.registry,
    kind: schedule.kind,
    name: schedule.name,
    owner: schedule.owner,
    created_at: schedule.createdAt,
    updated_at: schedule.updatedAt,
    revision: schedule.revision,
    plan: JSON.stringify(schedule.plan),
    ...toStateRow(schedule)
  }
}

function toStateRow({ nextAt, endedAt, lastAt, lastRunId, lastError }: ScheduleState) {
  return {
    next_at: nextAt,
    ended_at: endedAt,
    last_at: lastAt,
    last_run_id: lastRunId,
    last_error: lastError
  }
}

// Undefined if it is damaged.
function toSchedule(row: Row): StoredSchedule | undefined {
  const plan = parseStored<SchedulePlan>(row.plan)
  return (
    plan && {
      scheduleId: row.schedule_id,
      registry: row.registry,
      kind: row.kind,
      name: row.name,
      owner: row.owner,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      revision: row.revision,
      plan,
      nextAt: row.next_at,
      endedAt: row.ended_at,
      lastAt: row.last_at,
      lastRunId: row.last_run_id,
      lastError: row.last_error
    }
  )
}
