import {
  formatRunCursor,
  RUNNABLE_KINDS,
  toRunRecord,
  type RunEngine,
  type RunQuery,
  type RunSummary
} from '@svc/registry'
import { collectPage, type Page } from './collect-page.ts'
import type { Surface } from './surface.ts'

/** One page of the runs of runnables that are exposed here. @throws REG_ERR_BAD_CURSOR */
export async function listExposedRuns(
  { runs, exposed }: Surface,
  query: RunQuery,
  toItem: (run: RunSummary) => object
): Promise<Page> {
  const { name } = query
  if (name !== undefined && !RUNNABLE_KINDS.some((kind) => exposed.get(kind, name)))
    return { items: [], nextCursor: null }
  return listRuns(runs, query, (run) => (exposed.get(run.kind, run.name) ? toItem(run) : undefined))
}

/** One page of runs: those that `toItem` gives an item of. @throws REG_ERR_BAD_CURSOR */
export function listRuns(
  runs: Pick<RunEngine, 'list'>,
  { limit, cursor, ...filter }: RunQuery,
  toItem: (run: RunSummary) => object | undefined
): Promise<Page> {
  return collectPage<RunSummary>(
    {
      async read(some, after) {
        const page = await runs.list({
          ...filter,
          limit: some,
          ...(after !== undefined && { cursor: after })
        })
        return { items: page.runs, nextCursor: page.nextCursor }
      },
      encode(run) {
        const item = toItem(run)
        return item && JSON.stringify(item)
      },
      cursorOf: ({ runId, createdAt: at }) => formatRunCursor({ runId, at })
    },
    { limit, ...(cursor !== undefined && { cursor }) }
  )
}

/** A run as it is listed; `prefix` is that of the routes. */
export function toRunItem(run: RunSummary, prefix: string) {
  const { preview } = run
  return {
    ...toRunRecord(run),
    ...(preview !== null && { preview }),
    href: `${prefix}/runs/${run.runId}`
  }
}
