import { RUNNABLE_KINDS, type RunPage, type RunQuery, type StoredRun } from '@svc/registry'
import type { Surface } from './surface.ts'

/** Pages of the store that one request may read; a page that is not full then still has a `nextCursor`. */
const MAX_PAGES = 20

/** One page of the runs of runnables that are exposed here. @throws REG_ERR_BAD_CURSOR */
export async function findRuns({ runs, exposed }: Surface, query: RunQuery): Promise<RunPage> {
  const { name, limit, cursor, ...filter } = query
  const found: StoredRun[] = []
  if (name !== undefined && !RUNNABLE_KINDS.some((kind) => exposed.get(kind, name)))
    return { runs: [], nextCursor: null }

  let next: string | null | undefined = cursor
  for (let page = 0; page < MAX_PAGES && found.length < limit && next !== null; page++) {
    const { runs: some, nextCursor } = await runs.list({
      ...filter,
      ...(name !== undefined && { name }),
      ...(next !== undefined && { cursor: next }),
      limit: limit - found.length
    })
    found.push(...some.filter((run) => exposed.get(run.kind, run.name)))
    next = nextCursor
  }
  return { runs: found, nextCursor: next ?? null }
}
