import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { logFault } from '../access/log-fault.ts'
import { toChallenge, type ChallengeCodes } from '../access/callers.ts'
import { codeOf, isCatalogued, isExposed, toStoredError, type Fault } from '@svc/contract'
import { discardRest, hasRest } from './discard-rest.ts'

/** An error as a client sees it. */
export interface Refusal {
  readonly statusCode: number
  /** Stable. */
  readonly code: string
  readonly message: string
  /** The faults of an invalid request. */
  readonly errors?: readonly Fault[]
  /** With `RUN_ERR_SESSION_BUSY`: the run that has the turn of the session. */
  readonly runId?: string
}

/** The errors of a surface for what Fastify refuses, and for what it must not reveal. */
export interface RefusalErrors {
  readonly BadRequest: new (fault: string) => Error
  readonly UnsupportedMedia: new (fault: string) => Error
  readonly BodyTooLarge: new () => Error
  readonly Internal: new () => Error
  readonly challenges: ChallengeCodes
}

/** Converts a refusal to the body of the protocol's error. */
export type RefusalBody = (refusal: Refusal, request: FastifyRequest, err: unknown) => unknown

// Seconds, if the error does not say.
const RETRY_AFTER = 5

/**
 * Answers the errors of a scope: logged once, without client data, and sent as the protocol has it. Errors marked as visible to clients
 * keep code, text and status; those that the app throws with a status under 500 keep their text and status; any other is internal.
 */
export function refuseRequests(scope: FastifyInstance, errors: RefusalErrors, toBody: RefusalBody): void {
  scope.setErrorHandler((err, request, reply) => {
    const own = toOwn(err, errors)
    const refusal = toRefusal(own, errors)
    const { statusCode, code } = refusal
    logFault(request.log, 'request', { code, statusCode }, err, request)
    return sendRefusal(
      reply.serializer(JSON.stringify),
      own,
      errors,
      statusCode,
      toBody(refusal, request, err)
    )
  })
}

/** Converts any thrown value to what a client may see. */
export function toRefusal(err: unknown, { BadRequest, Internal }: RefusalErrors): Refusal {
  const thrown = (err ?? {}) as { statusCode?: unknown; message?: unknown; errors?: unknown; runId?: unknown }
  if (isExposed(err)) {
    const { code, message, statusCode } = toStoredError(err)
    const { errors, runId } = thrown
    return {
      statusCode,
      code,
      message,
      ...(isFaults(errors) && { errors }),
      ...(code === 'RUN_ERR_SESSION_BUSY' && typeof runId === 'string' && { runId })
    }
  }
  const status = Number(thrown.statusCode)
  if (status >= 400 && status < 500)
    return { statusCode: status, code: codeOf(new BadRequest(''))!, message: String(thrown.message) }
  const { code, message, statusCode } = toStoredError(new Internal())
  return { statusCode: status >= 500 && status < 600 ? status : statusCode, code, message }
}

/** The code that an app gave its own refusal; undefined for codes of Fastify and Node.js, and for those of ours, whose errors have the mark. */
export function appCodeOf(code: unknown): string | undefined {
  const isOwn = typeof code === 'string' && /^(?!(?:FST|ERR)_)[A-Z0-9]+_[A-Z0-9_]+$/.test(code)
  return isOwn && !isCatalogued(code) ? code : undefined
}

// Errors of Fastify about a request.
function toOwn(err: unknown, { BadRequest, UnsupportedMedia, BodyTooLarge }: RefusalErrors): unknown {
  const { code, statusCode, message } = (err ?? {}) as {
    code?: unknown
    statusCode?: number
    message?: string
  }
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new BodyTooLarge()
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return new UnsupportedMedia('it must be application/json')
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new BadRequest('the body is empty, or not as long as its Content-Length')
    default:
      return typeof code === 'string' && code.startsWith('FST_ERR_') && (statusCode ?? 500) < 500
        ? Object.assign(new BadRequest(String(message)), { statusCode })
        : err
  }
}

/**
 * Replies with a refusal and the headers that its error and status ask for. A connection whose client still sends its body stays open until
 * that has arrived, so that the client reads the reply.
 */
export function sendRefusal(
  reply: FastifyReply,
  err: unknown,
  { challenges }: Pick<RefusalErrors, 'challenges'>,
  statusCode: number,
  body: unknown,
  type = 'application/json; charset=utf-8'
): FastifyReply {
  const { retryAfter } = (err ?? {}) as { retryAfter?: unknown }
  if (typeof retryAfter === 'number') reply.header('retry-after', Math.ceil(retryAfter))
  else if ((statusCode === 429 || statusCode === 503) && !reply.hasHeader('retry-after'))
    reply.header('retry-after', RETRY_AFTER)
  const challenge = toChallenge(err, challenges)
  if (challenge !== undefined) reply.header('www-authenticate', challenge)
  if (hasRest(reply.request.raw)) closeLater(reply.request, reply)
  return reply.code(statusCode).type(type).send(body)
}

/** Closes a connection whose client still sends once it has sent all: otherwise it might never read the reply. */
function closeLater({ raw }: FastifyRequest, reply: FastifyReply): void {
  const discarded = discardRest(raw)
  // Drop Fastify's own `Connection: close`, but keep that of a closing app.
  if (!reply.raw.hasHeader('connection')) reply.removeHeader('connection')
  // Absent on HTTP/2.
  const { shouldKeepAlive = true } = reply.raw as { shouldKeepAlive?: boolean }
  if (shouldKeepAlive) return
  reply.raw.shouldKeepAlive = true
  reply.raw.once('finish', () => void discarded.then(() => raw.socket.destroySoon()))
}

function isFaults(errors: unknown): errors is readonly Fault[] {
  return (
    Array.isArray(errors) &&
    (errors as Partial<Fault>[]).every(
      (each) => typeof each?.path === 'string' && typeof each.message === 'string'
    )
  )
}

/** Each answer names its request, for the logs of both sides. */
export function nameRequests(scope: FastifyInstance, header: string): void {
  scope.addHook('onRequest', (request, reply, done) => {
    void reply.header(header, request.id)
    done()
  })
}

/** A scope below a prefix of its own answers unknown routes; others leave them to the app. */
export function refuseUnknownRoutes(
  scope: FastifyInstance,
  app: FastifyInstance,
  RouteNotFound: new (route: string) => Error
): void {
  if (scope.prefix === app.prefix) return
  scope.setNotFoundHandler(({ method, url }) => {
    throw new RouteNotFound(`${method} ${url.split('?', 1)[0]}`)
  })
}
