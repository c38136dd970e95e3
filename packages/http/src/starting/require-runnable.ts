import { requireExposed, type RunnableKind } from '@svc/registry'
import type { preParsingHookHandler } from 'fastify'
import type { Surface } from '../surface.ts'

/** A hook for routes with a `:name`: refuses before the body is read if there is no such runnable. */
export function requireNamed(surface: Surface, kind: RunnableKind): preParsingHookHandler {
  return (request, _reply, _payload, done) => {
    try {
      requireExposed(surface, kind, (request.params as { name: string }).name)
      done()
    } catch (err) {
      done(err as Error)
    }
  }
}
