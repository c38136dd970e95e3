import type { RunnableKind, RunnableMetadata } from '@svc/contract'
import { ApiError } from '../api/client.ts'
import { listRunnables } from '../api/resources.ts'

/** The kinds of runnables, in the order in which they are shown. */
export const KINDS = ['agent', 'team', 'workflow'] as const satisfies readonly RunnableKind[]

/** Whether a segment of an address names a kind. */
export function isKind(kind: string | undefined): kind is RunnableKind {
  return KINDS.some((each) => each === kind)
}

/** How several of a kind are called. */
export const KIND_TITLES = { agent: 'Agents', team: 'Teams', workflow: 'Workflows' } as const

/** Everything that the visitor may read, a list for each kind; some may be allowed to see some kinds only. */
export async function listAllRunnables(signal: AbortSignal): Promise<RunnableMetadata[][]> {
  const lists = await Promise.allSettled(KINDS.map((kind) => listRunnables(kind, { signal })))
  const refusals = lists.filter((list) => list.status === 'rejected')
  const fault = refusals.find(({ reason }) => !isRefused(reason))
  if (fault !== undefined || refusals.length === KINDS.length) throw (fault ?? refusals[0]!).reason
  return lists.map((list) => (list.status === 'fulfilled' ? list.value : []))
}

const isRefused = (reason: unknown) => reason instanceof ApiError && reason.status === 403
