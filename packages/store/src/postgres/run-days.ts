import type { RunDays } from '../backend.ts'
import type { Transact } from './query.ts'

type Send = (sql: string) => Promise<unknown>

const DAY = 86_400_000
const TABLES = ['run_part', 'file_chunk']
const LAST = Date.parse('9999-01-01')
const NAME = /_(\d{4})(\d\d)(\d\d)$/
// Milliseconds to wait for readers and writers of a table, which wait meanwhile.
const LOCK_TIMEOUT = 2_000
// Of a lock that could not be had in time, and of a day that has rows elsewhere already.
const NOT_NOW = new Set(['55P03', '23514'])

/** A day of UTC whose runs share a partition of each table. */
interface Day {
  /** `20261123`. */
  readonly name: string
  /** Ids of the day's runs are not less than `from`, and less than `to`. */
  readonly from: string
  readonly to: string
}

/**
 * The partitions of the logs and files of runs, one for each day on which runs began: an expired day is dropped as a whole, which costs
 * nothing beside the removal of its rows.
 */
export function createRunDays(transact: Transact, schema: string): RunDays {
  // A day that cannot be changed now is changed by the next sweep.
  const change = async (sql: readonly string[]) => {
    try {
      await transact(async (client) => {
        await client.query(`set local lock_timeout = ${LOCK_TIMEOUT}`)
        for (const each of sql) await client.query(each)
      })
    } catch (err) {
      if (!NOT_NOW.has((err as { code?: string }).code ?? '')) throw err
    }
  }

  return {
    async open(now, before) {
      const { missing, expired } = await transact(async (client) => {
        const { rows } = await client.query<{ name: string }>(
          `select relname as name from pg_class join pg_inherits on inhrelid = oid where inhparent = $1::regclass`,
          [`"${schema}".run_part`]
        )
        const known = rows.flatMap(({ name }) => dayOfName(name) ?? [])
        const gone: Day[] = []
        for (const day of known.filter(({ to }) => to <= idOf(before))) {
          const kept = await client.query(
            `select from "${schema}".run where run_id >= $1 and run_id < $2 and (ended_at is null or ended_at > $3) limit 1`,
            [day.from, day.to, before]
          )
          if (kept.rowCount === 0) gone.push(day)
        }
        const names = new Set(known.map(({ name }) => name))
        return { missing: upcoming(now).filter(({ name }) => !names.has(name)), expired: gone }
      })
      for (const day of missing) await change(createDay(schema, day))
      return {
        has: (runId) => expired.some(({ from, to }) => from <= runId && runId < to),
        async drop() {
          for (const { name } of expired)
            await change(TABLES.map((table) => `drop table if exists "${schema}".${table}_${name}`))
        }
      }
    }
  }
}

/** Creates the partitions of today and tomorrow of new tables. */
export async function createFirstDays(send: Send, schema: string, now: number): Promise<void> {
  for (const day of upcoming(now)) for (const sql of createDay(schema, day)) await send(sql)
}

// Attached to the table afterwards, which locks neither readers nor writers out of it.
function createDay(schema: string, { name, from, to }: Day): string[] {
  return TABLES.flatMap((table) => [
    `create table "${schema}".${table}_${name} (like "${schema}".${table} including all)`,
    `alter table "${schema}".${table} attach partition "${schema}".${table}_${name} for values from ('${from}') to ('${to}')`
  ])
}

// None for a clock beyond all dates.
const upcoming = (now: number): Day[] => (now < LAST ? [dayAt(now), dayAt(now + DAY)] : [])

function dayAt(time: number): Day {
  const start = Math.floor(time / DAY) * DAY
  const name = new Date(start).toISOString().slice(0, 10).replaceAll('-', '')
  return { name, from: idOf(start), to: idOf(start + DAY) }
}

function dayOfName(partition: string): Day | undefined {
  const [, year, month, day] = NAME.exec(partition) ?? []
  return year === undefined ? undefined : dayAt(Date.parse(`${year}-${month}-${day}`))
}

// The beginning of the ids of runs that begin in this second; see `newRunId`.
function idOf(time: number): string {
  return Math.floor(time / 1_000)
    .toString(36)
    .padStart(7, '0')
}
