import type { StoredSession } from '@svc/contract'

/** The id of the primary thread of a session. */
export function primaryThreadOf({ sessionId }: Pick<StoredSession, 'sessionId'>): string {
  return `sthr_${sessionId}`
}

/** The run whose member or step a thread is; undefined if the id is of no such thread. */
export function runOfThread(id: string): string | undefined {
  return /^sthr_(.+?)_\d+(?:_\d+)?$/.exec(id)?.[1]
}
