import type { SqlBool, Expression, ExpressionBuilder } from 'kysely'
import type { Commit } from '../commit.ts'
import type { Tables } from '../tables.ts'

// Rows per transaction, so that other work runs between two.
const BATCH = 500

// As types have it, any of these tables has the columns of this one.
type Model = 'memory_item'
type Columns<Name extends keyof Tables> = keyof Tables[Name] & string

/** Rows up to a time, by an index on it. */
export interface OldRows<Name extends keyof Tables> {
  readonly table: Name
  readonly key: Columns<Name>
  readonly time: Columns<Name>
  readonly until: number
  /** Only these. */
  readonly where?: Expression<SqlBool>
}

/** Removes old rows in batches, the oldest first; returns their number. */
export async function removeInBatches<Name extends keyof Tables>(
  commit: Commit,
  { table, key, time, until, where }: OldRows<Name>
): Promise<number> {
  const [name, id, at] = [table as Model, key as 'item_id', time as 'created_at']
  const isOld = ({ and, eb }: ExpressionBuilder<Tables, Model>) =>
    and([eb(at, '<=', until), ...(where === undefined ? [] : [where])])
  for (let removed = 0; ;) {
    const { numDeletedRows } = await commit.write((trx) => {
      const oldest = trx.selectFrom(name).select(id).where(isOld).orderBy(at).limit(BATCH)
      return trx.deleteFrom(name).where(id, 'in', oldest).where(isOld).executeTakeFirst()
    })
    removed += Number(numDeletedRows)
    if (numDeletedRows < BATCH) return removed
  }
}
