import { Type } from '@sinclair/typebox'
import { isTerminalStatus, RUNNABLE_KINDS, toRunRecord, type RunQuery, type StoredRun } from '@svc/registry'
import { HTTP_ERR_UNKNOWN_RUNNABLE } from '../errors.ts'
import {
  AdminRunListSchema,
  AdminRunQuerySchema,
  RemovedRunsSchema,
  RunFilterSchema
} from '../schemas/admin.ts'
import { NameParamsSchema } from '../schemas/path-params.ts'
import type { Surface } from '../surface.ts'
import type { HttpScope } from '../type-provider.ts'

/** Runs that are removed between two looks at the store. */
const BATCH = 100

/** `/admin`: every owner's runs, and what is exposed. */
export function adminRoutes(scope: HttpScope, { runs, exposed }: Surface): void {
  const config = { access: 'authenticated' } as const
  const list = { querystring: AdminRunQuerySchema, response: { 200: AdminRunListSchema } }
  const remove = { querystring: RunFilterSchema, response: { 200: RemovedRunsSchema } }
  const unregister = { params: NameParamsSchema, response: { 204: Type.Null() } }

  scope.get('/admin/runs', { schema: list, config }, async ({ query }) => {
    const page = await runs.list(query)
    return { ...page, runs: page.runs.map(toAdminRecord) }
  })

  scope.delete('/admin/runs', { schema: remove, config }, async ({ query }) => ({
    removed: await removeFinished(query)
  }))

  for (const kind of RUNNABLE_KINDS) {
    const access = { action: 'admin', kind } as const
    const options = { schema: unregister, config: { access } }
    scope.delete(`/admin/${kind}s/:name`, options, async ({ params }, reply) => {
      if (!exposed.remove(kind, params.name)) throw new HTTP_ERR_UNKNOWN_RUNNABLE(kind, params.name)
      return reply.code(204).send()
    })
  }

  // Those under way stay: they are canceled, not removed.
  async function removeFinished(filter: Omit<RunQuery, 'limit'>): Promise<number> {
    let removed = 0
    let cursor: string | null | undefined
    do {
      const page = await runs.list({ ...filter, limit: BATCH, ...(cursor !== undefined && { cursor }) })
      const finished = page.runs.filter(({ status }) => isTerminalStatus(status))
      await Promise.all(finished.map(({ runId }) => runs.stores.runs.remove(runId)))
      removed += finished.length
      cursor = page.nextCursor
    } while (cursor !== null)
    return removed
  }
}

function toAdminRecord(run: StoredRun) {
  return { ...toRunRecord(run), owner: run.owner }
}
