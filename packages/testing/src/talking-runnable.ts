import type { RunnableDefinition } from '@svc/contract'

/** Options of `talkingRunnable`. */
export interface TalkingOptions {
  /** Default `talk`. */
  name?: string
  /** Called when a run has its turn, before it loads the session. */
  before?: (input: unknown) => Promise<void>
}

/**
 * An agent whose runs take turns of their session. Each answers with the messages of users before its own, and its own, and saves that.
 */
export function talkingRunnable({ name = 'talk', before }: TalkingOptions = {}): RunnableDefinition {
  return {
    kind: 'agent',
    name,
    takesTurns: true,
    async run(input, { stores, sessionId, sessionOwner: owner, registry, idempotencyKey, signal }) {
      const key = { registry, owner, kind: 'agent', name, sessionId } as const
      const end = await stores.sessions.lock(key, signal, idempotencyKey)
      try {
        await before?.(input)
        const earlier = await stores.sessions.load(key, 100)
        const said = earlier.map((message) => (message.role === 'user' ? message.content : ''))
        await stores.sessions.append(key, idempotencyKey, [{ role: 'user', content: String(input) }])
        return [...said, input].join(' ')
      } finally {
        end()
      }
    }
  }
}
