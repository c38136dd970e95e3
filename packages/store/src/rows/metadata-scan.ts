import { hasMetadata, type MetadataFilter } from '@svc/contract'
import { formatRunCursor } from '@svc/contract/stores'
import type { SelectQueryBuilder } from 'kysely'
import { parseMetadata } from './run-rows.ts'
import type { Tables } from '../tables.ts'

/** The column by which a list is in order. */
export type Time = 'created_at' | 'updated_at'

/** Runs whose metadata one page reads at most; then even a short page has a cursor. */
const MAX_SCANNED = 500

/** The ids of a page of runs that have a text in their metadata, by a time, the latest first. */
export async function scanMetadata(
  query: SelectQueryBuilder<Tables, 'run', object>,
  filter: MetadataFilter,
  time: Time,
  limit: number
): Promise<{ ids: string[]; nextCursor: string | null }> {
  // An index by `created_at` has only runs with metadata; by `updated_at` those without count too.
  const candidates = time === 'created_at' ? query.where('metadata', 'is not', null) : query
  const rows = await candidates
    .select(['run_id', time, 'metadata'])
    .orderBy(time, 'desc')
    .orderBy('run_id', 'desc')
    .limit(MAX_SCANNED)
    .execute()
  const ids: string[] = []
  let last: (typeof rows)[number] | undefined
  for (const row of rows) {
    if (ids.length === limit) break
    if (hasMetadata(parseMetadata(row.metadata), filter)) ids.push(row.run_id)
    last = row
  }
  const isLastPage = last === rows.at(-1) && rows.length < MAX_SCANNED
  return {
    ids,
    nextCursor: last && !isLastPage ? formatRunCursor({ at: last[time], runId: last.run_id }) : null
  }
}
