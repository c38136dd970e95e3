import { isTerminalStatus, nextTurn, RUNNABLE_KINDS, type RunPage, type RunQuery } from '@svc/contract'
import { removeSubject, jsonReply } from '@svc/surface'
import { HTTP_ERR_UNKNOWN_RUNNABLE } from '../errors.ts'
import { describeOperation, emptyReply, errorReplies } from '../openapi/describe-operation.ts'
import { sendPage } from '../replies/collect-page.ts'
import { listRuns, toRunItem } from '../replies/run-records.ts'
import {
  AdminRunListSchema,
  AdminRunQuerySchema,
  RemovedRunsSchema,
  RemovedSubjectSchema,
  RunFilterSchema,
  SubjectParamsSchema
} from '../schemas/admin.ts'
import { NameParamsSchema } from '../schemas/parameters.ts'
import type { HttpScope, Surface } from '../surface.ts'

/** Runs per page of the list of runs to remove. */
const BATCH = 100

const tags = ['Admin']
const config = { access: 'authenticated' } as const
const list = {
  ...describeOperation('list-all-runs', 'The runs of all owners, newest first'),
  tags,
  querystring: AdminRunQuerySchema,
  response: { 200: jsonReply('One page of runs', AdminRunListSchema), ...errorReplies(400, 500, 503) }
}
const remove = {
  ...describeOperation('remove-runs', 'Remove ended runs'),
  tags,
  querystring: RunFilterSchema,
  response: {
    200: jsonReply('The number of removed runs', RemovedRunsSchema),
    ...errorReplies(400, 500, 503)
  }
}

const forget = {
  ...describeOperation(
    'remove-subject',
    'Remove all that belongs to a person',
    'Work under way is canceled first, whichever router shows it. Revoke the credentials of the person before: one who keeps starting runs cannot be removed. After a failure, repeat the request.'
  ),
  tags,
  params: SubjectParamsSchema,
  response: {
    200: jsonReply('The numbers of what was removed', RemovedSubjectSchema),
    ...errorReplies(400, 409, 414, 500, 503)
  }
}

/** `/admin`: the runs of all owners, people, and the exposed runnables. */
export function adminRoutes(scope: HttpScope, { runs, exposed, baseOf }: Surface): void {
  scope.get('/admin/runs', { schema: list, config }, async ({ query }, reply) => {
    const shown = { ...query, scope: exposed.scope() }
    const base = baseOf(reply.request)
    const page = await listRuns(runs, shown, (run) => ({ ...toRunItem(run, base), owner: run.owner }))
    return sendPage(reply, 'runs', page)
  })

  scope.delete('/admin/runs', { schema: remove, config }, async ({ query }) => ({
    removed: await removeEnded(query)
  }))

  scope.delete('/admin/subjects/:sub', { schema: forget, config }, async ({ params }) =>
    removeSubject(runs, params.sub)
  )

  for (const kind of RUNNABLE_KINDS) {
    const access = { action: 'admin', kind } as const
    const schema = {
      ...describeOperation(`unregister-${kind}`, `Unregister one ${kind}`),
      tags,
      params: NameParamsSchema,
      response: { 204: emptyReply('Unregistered; its runs continue'), ...errorReplies(400, 404, 414, 500) }
    }
    scope.delete(`/admin/${kind}s/:name`, { schema, config: { access } }, async ({ params }, reply) => {
      if (!exposed.remove(kind, params.name)) throw new HTTP_ERR_UNKNOWN_RUNNABLE(kind, params.name)
      return reply.code(204).send()
    })
  }

  // Active runs must be canceled, not removed.
  async function removeEnded(filter: Omit<RunQuery, 'limit'>): Promise<number> {
    let removed = 0
    const shown = { ...filter, scope: exposed.scope() }
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page: RunPage = await runs.list({ ...shown, limit: BATCH, ...(cursor && { cursor }) })
      for (const { runId, status } of page.runs) {
        if (!isTerminalStatus(status)) continue
        // One per turn of the event loop: large runs must not block it.
        await nextTurn()
        await runs.stores.runs.remove(runId)
        removed++
      }
      cursor = page.nextCursor
    }
    return removed
  }
}
