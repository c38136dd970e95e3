import { isPromise, type Awaitable } from '@svc/contract'
import type { RunEngine } from '@svc/registry'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** For replies that only their caller may read. */
const PRIVATE_HEADERS = Object.freeze({
  // Neither a browser nor a proxy keeps them.
  'cache-control': 'no-store',
  // JSON with markup in it runs nothing.
  'x-content-type-options': 'nosniff'
})

/**
 * Marks all replies of a scope as private, refusals included. Routes whose replies are for everyone, or that a client may keep, such as
 * files, set headers of their own.
 */
export function keepPrivate(scope: FastifyInstance): void {
  scope.addHook('onRequest', (_request, reply, done) => {
    reply.headers(PRIVATE_HEADERS)
    done()
  })
}

/** Whose starts are refused, and what is not. */
export interface EarlyRefusals {
  readonly runs: Pick<RunEngine, 'refusal'>
  ownerOf(request: FastifyRequest): string
  /** True if the request repeats a start that was accepted, and gets its answer. */
  isRepeated?(request: FastifyRequest): Awaitable<boolean>
}

/**
 * Refuses the start of a run before the body of its request is read, if the owner or the service is at a limit. The connections of an owner
 * whose starts are refused often are closed.
 * @throws the error of the limit
 */
export function refuseEarly(
  { runs, ownerOf, isRepeated }: EarlyRefusals,
  request: FastifyRequest,
  reply: FastifyReply
): Awaitable<void> {
  const refusal = runs.refusal(ownerOf(request))
  if (refusal === undefined) return
  const refuse = () => {
    if (refusal.often) closeAfter(request, reply)
    throw refusal.error
  }
  const repeated = isRepeated?.(request) ?? false
  if (isPromise(repeated)) return repeated.then((is) => (is ? undefined : refuse()))
  return repeated ? undefined : refuse()
}

/**
 * Does so on the routes of a scope whose bodies say whether they start a run, and only for owners whose starts are refused often: their other
 * requests, such as answers, wait with them. Callers are identified before.
 */
export function refuseFloods(scope: FastifyInstance, refusals: EarlyRefusals): void {
  scope.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.method !== 'POST' || refusals.runs.refusal(refusals.ownerOf(request), true) === undefined)
      return done()
    try {
      const refused = refuseEarly(refusals, request, reply)
      const pass = () => done()
      if (isPromise(refused)) refused.then(pass, done)
      else done()
    } catch (err) {
      done(err as Error)
    }
  })
}

// Only HTTP/1 has such connections.
function closeAfter({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.httpVersionMajor !== 1) return
  reply.raw.setHeader('connection', 'close')
  reply.raw.shouldKeepAlive = false
}
