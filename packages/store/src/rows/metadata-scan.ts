import type { MetadataFilter } from '@svc/registry'
import { formatRunCursor, hasMetadata } from '@svc/registry/store-kit'
import type { SelectQueryBuilder } from 'kysely'
import { parseMetadata } from './run-rows.ts'
import type { Tables } from '../tables.ts'

/** Runs whose metadata one page reads at most; then even a short page has a cursor. */
const MAX_SCANNED = 500

/** The ids of a page of runs that have a text in their metadata, newest first. */
export async function scanMetadata(
  query: SelectQueryBuilder<Tables, 'run', object>,
  filter: MetadataFilter,
  limit: number
): Promise<{ ids: string[]; nextCursor: string | null }> {
  const rows = await query
    .select(['run_id', 'created_at', 'metadata'])
    .where('metadata', 'is not', null)
    .orderBy('created_at', 'desc')
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
    nextCursor: last && !isLastPage ? formatRunCursor({ at: last.created_at, runId: last.run_id }) : null
  }
}
