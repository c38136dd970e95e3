import type { ChangedRunPage, ChangedRunQuery, RunStatus } from '@svc/registry'
import type { ListRequest, TaskList } from '../model/requests.ts'
import type { Call, Surface } from '../surface.ts'
import { readAllSaid, readTask } from '../tasks/read-task.ts'
import { badParams } from '../wire/decode-params.ts'

/** The caller's own tasks, those that changed last first. @throws A2A_ERR_BAD_PARAMS */
export async function list(surface: Surface, { principal }: Call, request: ListRequest): Promise<TaskList> {
  const { contextId, state, changedSince, pageSize, pageToken, historyLength, includeArtifacts } = request
  const { runs, nextCursor, total } = await findRuns(surface, {
    owner: principal.sub,
    scope: surface.exposed.scope(),
    limit: pageSize,
    ...(contextId !== undefined && { sessionId: contextId }),
    // States that no run has are those of no task here.
    ...(state !== undefined && { status: state as RunStatus }),
    ...(changedSince !== undefined && { since: Date.parse(changedSince) }),
    ...(pageToken !== undefined && { cursor: pageToken })
  })
  const said = await readAllSaid(surface, historyLength === 0 ? [] : runs)
  return {
    tasks: await Promise.all(
      runs.map((run) =>
        readTask(surface, run, said.get(run.runId) ?? [], { historyLength, includeArtifacts })
      )
    ),
    nextPageToken: nextCursor ?? '',
    pageSize,
    totalSize: total
  }
}

async function findRuns({ runs }: Surface, query: ChangedRunQuery): Promise<ChangedRunPage> {
  try {
    return await runs.stores.runs.listChanged(query)
  } catch (err) {
    if ((err as { code?: unknown }).code !== 'REG_ERR_BAD_CURSOR') throw err
    throw badParams('pageToken', 'No page gave this token')
  }
}
