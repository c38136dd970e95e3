import { isPromise, type Awaitable } from '@svc/contract'
import type { RunEngine } from '@svc/registry'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** What a hook does before the handler of a route. */
export type HookAct = (request: FastifyRequest, reply: FastifyReply) => Awaitable<unknown>

/** Completes a hook: at once, unless what it does takes time. */
export function completeHook(
  act: HookAct,
  request: FastifyRequest,
  reply: FastifyReply,
  complete: (err?: Error) => void
): void {
  let acting: Awaitable<unknown>
  try {
    acting = act(request, reply)
  } catch (err) {
    return complete(toError(err))
  }
  if (isPromise(acting))
    acting.then(
      () => complete(),
      (err) => complete(toError(err))
    )
  else complete()
}

// Fastify takes a falsy value for success.
function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error('no error was thrown', { cause: thrown })
}

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
  ownerOf(this: void, request: FastifyRequest): string
  /** True if the request repeats a start that was accepted, and gets its answer. */
  isRepeated?(this: void, request: FastifyRequest): Awaitable<boolean>
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
  const refuse: HookAct = (request, reply) => refuseEarly(refusals, request, reply)
  scope.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.method !== 'POST' || refusals.runs.refusal(refusals.ownerOf(request), true) === undefined)
      return done()
    completeHook(refuse, request, reply, done)
  })
}

// Only HTTP/1 has such connections.
function closeAfter({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.httpVersionMajor !== 1) return
  reply.raw.setHeader('connection', 'close')
  reply.raw.shouldKeepAlive = false
}
