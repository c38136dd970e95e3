import {
  codeOf,
  createPause,
  estimateLength,
  nextTurn,
  type ChangedRunPage,
  type ChangedRunQuery
} from '@svc/contract'
import { formatRunCursor } from '@svc/contract/stores'
import type { Call, ListRequest, TaskList } from '../model/requests.ts'
import type { Task } from '../model/task.ts'
import type { Surface } from '../service/surface.ts'
import { readTask } from '../tasks/read-task.ts'
import { toStateQuery } from '../tasks/task-state.ts'
import { badParams } from '../wire/decode-params.ts'

/** Characters of JSON after which a page ends. */
const MAX_LENGTH = 1_048_576

/** The caller's own tasks, the last changed first. @throws A2A_ERR_BAD_PARAMS */
export async function list(surface: Surface, call: Call, request: ListRequest): Promise<TaskList> {
  const { contextId, state, changedSince, pageSize, pageToken, historyLength, includeArtifacts } = request
  await nextTurn()
  const { runs, nextCursor, total } = await findRuns(surface, {
    owner: call.principal.sub,
    scope: surface.exposed.scope(),
    limit: pageSize,
    ...(contextId !== undefined && { sessionId: contextId }),
    ...(state !== undefined && toStateQuery(state)),
    ...(changedSince !== undefined && { since: Date.parse(changedSince) }),
    ...(pageToken !== undefined && { cursor: pageToken })
  })
  const pause = createPause()
  const tasks: Task[] = []
  let nextPageToken = nextCursor ?? ''
  let left = MAX_LENGTH
  for (const [index, run] of runs.entries()) {
    const task = await readTask(surface, run, call, { historyLength, includeArtifacts, isWhole: false })
    tasks.push(task)
    left -= estimateLength(task, left)
    await pause()
    if (left > 0 || index === runs.length - 1) continue
    nextPageToken = formatRunCursor({ at: run.updatedAt, runId: run.runId })
    break
  }
  return { tasks, nextPageToken, pageSize, totalSize: total }
}

async function findRuns({ runs }: Surface, query: ChangedRunQuery): Promise<ChangedRunPage> {
  try {
    return await runs.stores.runs.listChanged(query)
  } catch (err) {
    if (codeOf(err) !== 'REG_ERR_BAD_CURSOR') throw err
    throw badParams('pageToken', 'Unknown page token')
  }
}
