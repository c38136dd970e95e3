import type { Exposed, Runnable, RunnableKind } from '@svc/registry'
import type { preParsingHookHandler } from 'fastify'
import { HTTP_ERR_UNKNOWN_RUNNABLE } from '../errors.ts'

/** The runnable that a path names. @throws HTTP_ERR_UNKNOWN_RUNNABLE */
export function requireRunnable(exposed: Exposed, kind: RunnableKind, name: string): Runnable {
  const runnable = exposed.get(kind, name)
  if (runnable === undefined) throw new HTTP_ERR_UNKNOWN_RUNNABLE(kind, name)
  return runnable
}

/** A hook for routes with a `:name`: nothing is read for a runnable that is not there. */
export function requireNamed(exposed: Exposed, kind: RunnableKind): preParsingHookHandler {
  return (request, _reply, _payload, done) => {
    try {
      requireRunnable(exposed, kind, (request.params as { name: string }).name)
      done()
    } catch (err) {
      done(err as Error)
    }
  }
}
