import { logFault } from '@svc/registry'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { HTTP_ERR_METHOD_NOT_ALLOWED, HTTP_ERR_ROUTE_NOT_FOUND } from '../errors.ts'
import type { AllowedMethods } from './allowed-methods.ts'
import { discardRest, hasRest } from './discard-rest.ts'
import { acceptsProblem, PROBLEM, toErrorBody, toProblem } from './to-error-body.ts'
import { toFault, type Fault } from './to-fault.ts'

// Seconds after which to come again, where neither the error nor who threw it says so.
const RETRY_AFTER = 5

/**
 * Logs what was thrown, once, without anything that a client sent, and answers it in the one shape. As
 * `Fastify({ frameworkErrors })` it does so for URLs that Fastify refuses before any plugin sees them.
 */
export function handleError(err: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const fault = toFault(err)
  const { statusCode, code } = fault
  logFault(request.log, 'request', { code, statusCode }, err)
  sendFault(fault, request, reply)
}

/** Answers a request that matches no route. */
function handleNotFound(request: FastifyRequest, reply: FastifyReply): void {
  handleError(new HTTP_ERR_ROUTE_NOT_FOUND(request.method), request, reply)
}

/** The same for a scope whose routes are known: a path that takes other methods is told apart. */
export function createNotFoundHandler(allowed: AllowedMethods) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const methods = allowed.of(request.url)
    // A wildcard takes the method, and has nothing under this path.
    if (methods.length === 0 || methods.includes(request.method)) return handleNotFound(request, reply)
    reply.header('allow', methods.join(', '))
    handleError(new HTTP_ERR_METHOD_NOT_ALLOWED(request.method), request, reply)
  }
}

/** The plugin `errorHandler`: the one shape for an app's other routes too, and for paths that match none. */
export const errorHandler = fp(
  async (app: FastifyInstance) => {
    app.setErrorHandler(handleError)
    app.setNotFoundHandler(handleNotFound)
  },
  { name: '@svc/http/error-handler', fastify: '5.x' }
)

/** Answers the error of a run that failed; the engine has logged it. */
export function replyRunError(err: unknown, request: FastifyRequest, reply: FastifyReply): void {
  sendFault(toFault(err), request, reply)
}

function sendFault(fault: Fault, request: FastifyRequest, reply: FastifyReply): void {
  if (hasRest(request.raw)) closeLater(request, reply)
  const { statusCode, retryAfter, challenge } = fault
  const isTemporary = statusCode === 429 || statusCode === 503
  if (retryAfter !== undefined) reply.header('retry-after', Math.ceil(retryAfter))
  else if (isTemporary && !reply.hasHeader('retry-after')) reply.header('retry-after', RETRY_AFTER)
  if (challenge !== undefined) reply.header('www-authenticate', challenge)
  const wantsProblem = acceptsProblem(request.headers.accept)
  reply.code(statusCode).type(wantsProblem ? PROBLEM : 'application/json; charset=utf-8')
  void reply.send(wantsProblem ? toProblem(fault, request.id) : toErrorBody(fault, request.id))
}

// A connection that is closed with the answer takes it from a client that is still sending.
function closeLater({ raw }: FastifyRequest, reply: FastifyReply): void {
  const discarded = discardRest(raw)
  // Fastify would close it at once; a closing app has asked for that itself.
  if (!reply.raw.hasHeader('connection')) reply.removeHeader('connection')
  // HTTP/2 does not know it.
  const { shouldKeepAlive = true } = reply.raw as { shouldKeepAlive?: boolean }
  if (shouldKeepAlive) return
  reply.raw.shouldKeepAlive = true
  reply.raw.once('finish', () => void discarded.then(() => raw.socket.destroySoon()))
}
