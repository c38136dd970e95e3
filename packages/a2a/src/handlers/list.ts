import type { RunStatus, StoredRun } from '@svc/registry'
import type { ListRequest, TaskList } from '../model/requests.ts'
import type { Call, Surface } from '../surface.ts'
import { formatPageToken, isAfter, newestFirst, parsePageToken } from '../tasks/page-token.ts'
import { readTask } from '../tasks/read-task.ts'

/** Runs that the store is asked for at once. */
const STEP = 1_000

/** The caller's own tasks, those that changed last first. @throws A2A_ERR_BAD_PARAMS */
export async function list(surface: Surface, call: Call, request: ListRequest): Promise<TaskList> {
  const { pageSize, pageToken, historyLength, includeArtifacts } = request
  const start = pageToken === undefined ? undefined : parsePageToken(pageToken)
  const found = (await findRuns(surface, call, request)).sort(newestFirst)
  const rest = start === undefined ? found : found.filter((run) => isAfter(run, start))
  const page = rest.slice(0, pageSize)
  const last = page.at(-1)
  return {
    tasks: await Promise.all(
      page.map((run) => readTask(surface, run, undefined, { historyLength, includeArtifacts }))
    ),
    nextPageToken: last !== undefined && rest.length > page.length ? formatPageToken(last) : '',
    pageSize,
    totalSize: found.length
  }
}

// The store lists by the time of the start; the protocol by that of the last change.
async function findRuns(
  surface: Surface,
  { principal }: Call,
  { contextId, state, changedSince }: ListRequest
): Promise<StoredRun[]> {
  const since = changedSince === undefined ? 0 : Date.parse(changedSince)
  const found: StoredRun[] = []
  let cursor: string | null = null
  do {
    const page = await surface.runs.list({
      owner: principal.sub,
      limit: STEP,
      ...(state !== undefined && { status: state as RunStatus }),
      ...(typeof cursor === 'string' && { cursor })
    })
    for (const run of page.runs) {
      if (contextId !== undefined && run.sessionId !== contextId) continue
      if (run.updatedAt >= since && surface.exposed.get(run.kind, run.name)) found.push(run)
    }
    cursor = page.nextCursor
  } while (cursor !== null)
  return found
}
