import { RUNNABLE_KINDS, toRunRecord, type Principal, type StoredRun } from '@svc/registry'
import type { Static } from '@sinclair/typebox'
import type { RunList, RunQuerySchema } from './schemas/run-list.ts'
import type { Surface } from './surface.ts'

/** Pages of the store that one request may read; a page that is not full then still has a `nextCursor`. */
const MAX_PAGES = 20

/** One page of the principal's own runs of runnables that are exposed here. @throws REG_ERR_BAD_CURSOR */
export async function listRuns(
  { runs, exposed }: Surface,
  { sub: owner }: Principal,
  { limit, cursor, ...filter }: Static<typeof RunQuerySchema>
): Promise<RunList> {
  const { name } = filter
  const found: StoredRun[] = []
  if (name !== undefined && !RUNNABLE_KINDS.some((kind) => exposed.get(kind, name)))
    return { runs: [], nextCursor: null }

  let next: string | null | undefined = cursor
  for (let page = 0; page < MAX_PAGES && found.length < limit && next !== null; page++) {
    const query = {
      ...filter,
      owner,
      limit: limit - found.length,
      ...(next !== undefined && { cursor: next })
    }
    const { runs: some, nextCursor } = await runs.list(query)
    found.push(...some.filter((run) => exposed.get(run.kind, run.name)))
    next = nextCursor
  }
  return { runs: found.map(toRunRecord), nextCursor: next ?? null }
}
