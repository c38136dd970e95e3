import { toRunRecord, type RunEngine } from '@svc/surface'
import type { RunQuery, RunSummary } from '@svc/contract'
import { formatRunCursor } from '@svc/contract/stores'
import { collectPage, type Page } from './collect-page.ts'

/** Reads one page of runs. @throws REG_ERR_BAD_CURSOR */
export function listRuns(
  runs: Pick<RunEngine, 'list'>,
  { limit, cursor, ...filter }: RunQuery,
  toItem: (run: RunSummary) => object
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
      encode: (run) => JSON.stringify(toItem(run)),
      cursorOf: ({ runId, createdAt, updatedAt }) =>
        formatRunCursor({ runId, at: filter.since === undefined ? createdAt : updatedAt })
    },
    { limit, ...(cursor !== undefined && { cursor }) }
  )
}

/** A run as an item of a list. @param base what its link begins with */
export function toRunItem(run: RunSummary, base: string) {
  const { preview, stats } = run
  return {
    ...toRunRecord(run),
    ...(preview !== null && { preview }),
    ...stats,
    href: `${base}/runs/${run.runId}`
  }
}
