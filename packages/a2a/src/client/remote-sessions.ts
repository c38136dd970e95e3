import type { RunContext } from '@svc/registry'
import type { RemoteParts } from './remote-parts.ts'

/** The context of a session at the service, and its task that waits for a message. */
interface RemoteSession {
  contextId: string
  taskId?: string
}

const MAX_SESSIONS = 10_000

/** Maps our sessions to contexts of the service, as an LRU cache. */
export class RemoteSessions {
  readonly #sessions = new Map<string, RemoteSession>()

  find(context: RunContext): Partial<RemoteSession> {
    return this.#sessions.get(keyOf(context)) ?? {}
  }

  keep(context: RunContext, { contextId, taskId, status }: RemoteParts): void {
    const key = keyOf(context)
    this.#sessions.delete(key)
    if (contextId === undefined || contextId === '') return
    const waits = status.state === 'input-required' && taskId !== undefined
    this.#sessions.set(key, { contextId, ...(waits && { taskId }) })
    if (this.#sessions.size > MAX_SESSIONS) this.#sessions.delete(this.#sessions.keys().next().value!)
  }
}

function keyOf({ sessionOwner, sessionId, source }: RunContext): string {
  return JSON.stringify([sessionOwner, sessionId, ...source])
}
