import { sql, type Kysely } from 'kysely'
import type { ItemCodes } from '../backend.ts'
import type { Tables } from '../tables.ts'

/** Finds items by their codes in the database, without an extension: all codes of a space are compared, in an index that has them. */
export function createItemCodes(db: Kysely<Tables>): ItemCodes {
  return {
    toColumn: toBits,
    async nearest(spaceId, model, code, count) {
      const distance = sql<number>`bit_count(code # cast(${toBits(code)} as bit(512)))`
      const rows = await db
        .selectFrom('memory_item')
        .select('item_id')
        .where('space_id', '=', spaceId)
        .where('model', '=', model)
        .where('code', 'is not', null)
        .orderBy(distance)
        .limit(count)
        .execute()
      return rows.map(({ item_id }) => item_id)
    },
    changed() {}
  }
}

/** A code as a text that Postgres takes as bits. */
export function toBits(code: Uint8Array): string {
  return `x${Buffer.from(code).toString('hex')}`
}
