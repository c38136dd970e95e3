import { randomUUID } from 'node:crypto'
import { toElicits, type Elicits } from '../server/caller.ts'

/**
 * The id of a session of 2025-11-25. The server keeps no sessions: the id says itself what later requests need to know of the client, and
 * grants nothing, so that it may be replayed, and any node can read it.
 */
export function createSessionId(initialize: unknown): string {
  const { capabilities } = ((initialize as { params?: unknown }).params ?? {}) as {
    capabilities?: { elicitation?: unknown }
  }
  const { form, url } = toElicits(capabilities?.elicitation)
  return `${randomUUID()}.${form ? 'e' : ''}${url ? 'u' : ''}`
}

/** How the client of a session asks its users. */
export function elicitsInSession(sessionId: string | string[] | undefined): Elicits {
  const [, form, url] = (typeof sessionId === 'string' && /\.(e?)(u?)$/.exec(sessionId)) || []
  return { form: form === 'e', url: url === 'u' }
}
