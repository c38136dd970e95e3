import type { Awaitable, Envelope } from '@svc/registry'
import { codeOf } from '@svc/registry/kit'
import type { Call, SendRequest } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'
import { requireTask } from '../tasks/task-access.ts'

/** What accompanies a message; undefined if nothing does. Metadata of the message overrides that of the request. */
export function toEnvelope(
  surface: Surface,
  call: Call,
  request: SendRequest
): Awaitable<Envelope | undefined> {
  const { referenceTaskIds: named = [] } = request.message
  if (named.length === 0) return build(call, request, named)
  return findReferred(surface, call, named).then((found) => build(call, request, found))
}

function build(
  { extensions }: Call,
  { message: { metadata: own }, metadata: around, acceptedOutputModes }: SendRequest,
  referenceTaskIds: readonly string[]
): Envelope | undefined {
  const metadata = around && own ? { ...around, ...own } : (own ?? around)
  const isEmpty = extensions.length === 0 && referenceTaskIds.length === 0
  if (isEmpty && metadata === undefined && acceptedOutputModes === undefined) return undefined
  return {
    ...(metadata && { metadata }),
    ...(extensions.length > 0 && { extensions }),
    ...(acceptedOutputModes && { acceptedOutputModes }),
    ...(referenceTaskIds.length > 0 && { referenceTaskIds })
  }
}

// Tasks are referred to for context alone: those that are gone, or belong to others, are left out.
async function findReferred(surface: Surface, call: Call, named: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const id of new Set(named)) if (await isReadable(surface, call, id)) found.push(id)
  return found
}

async function isReadable(surface: Surface, call: Call, taskId: string): Promise<boolean> {
  try {
    await requireTask(surface, call, taskId)
    return true
  } catch (err) {
    if (codeOf(err) !== 'A2A_ERR_TASK_NOT_FOUND') throw err
    return false
  }
}
