import { randomUUID } from 'node:crypto'
import { canFillForms } from '../server/caller.ts'

/**
 * The id of a session of 2025-11-25. The server keeps no sessions: the id says itself what later requests need to know of the client, and
 * grants nothing, so that it may be replayed, and any node can read it.
 */
export function createSessionId(initialize: unknown): string {
  const { capabilities } = ((initialize as { params?: unknown }).params ?? {}) as {
    capabilities?: { elicitation?: unknown }
  }
  return `${randomUUID()}${canFillForms(capabilities?.elicitation) ? '.e' : ''}`
}

/** True if the client of a session fills in forms. */
export function elicitsInSession(sessionId: string | string[] | undefined): boolean {
  return typeof sessionId === 'string' && sessionId.endsWith('.e')
}
