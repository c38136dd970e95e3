import { hash } from 'node:crypto'
import type { RemoteSession, RemoteSessionStore, RunContext, SessionKey } from '@svc/contract'
import { createInProcessRemoteSessionStore } from '@svc/surface'
import type { RemoteParts } from './remote-parts.ts'

/** The service and its agent that a runnable calls. */
export interface RemotePeer {
  /** The name of the runnable. */
  readonly name: string
  readonly url: string
  readonly agentName: string | undefined
}

/** Which conversations of a service belong to our sessions. Kept in the stores of the run, so that any node continues them. */
export class RemoteSessions {
  readonly #peer: RemotePeer
  // For stores that keep none.
  readonly #own = createInProcessRemoteSessionStore()

  constructor(peer: RemotePeer) {
    this.#peer = peer
  }

  async find(context: RunContext): Promise<Partial<RemoteSession>> {
    return (await this.#storeOf(context).load(this.#keyOf(context), this.#remoteOf(context))) ?? {}
  }

  async keep(context: RunContext, { contextId, taskId, status }: RemoteParts): Promise<void> {
    const store = this.#storeOf(context)
    const [key, remote] = [this.#keyOf(context), this.#remoteOf(context)]
    if (contextId === undefined || contextId === '') return store.remove(key, remote)
    const waits = status.state === 'input-required' && taskId !== undefined
    await store.save(key, remote, { contextId, ...(waits && { taskId }) })
  }

  #storeOf({ stores }: RunContext): RemoteSessionStore {
    return stores.remoteSessions ?? this.#own
  }

  #keyOf({ registry, sessionOwner, sessionId }: RunContext): SessionKey {
    return { registry, kind: 'agent', name: this.#peer.name, owner: sessionOwner, sessionId }
  }

  // A team may have several members of one name. Hashed, since a URL may have credentials.
  #remoteOf({ source }: RunContext): string {
    const { url, agentName = null } = this.#peer
    return hash('sha256', JSON.stringify([url, agentName, ...source]), 'base64url')
  }
}
