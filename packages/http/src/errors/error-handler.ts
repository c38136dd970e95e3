import { closeLater, hasRest, logFault } from '@svc/surface'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { HTTP_ERR_METHOD_NOT_ALLOWED, HTTP_ERR_ROUTE_NOT_FOUND } from '../errors.ts'
import type { AllowedMethods } from './allowed-methods.ts'
import { acceptsProblem, PROBLEM, toErrorBody, toProblem } from './to-error-body.ts'
import { toFault, type Fault } from './to-fault.ts'

// Seconds; used if neither the error nor the reply sets `Retry-After`.
const RETRY_AFTER = 5

/**
 * Logs an error once, without client data, and replies with the error body. As `Fastify({ frameworkErrors })` it also
 * covers URLs that Fastify refuses before any plugin sees them.
 */
export function handleError(err: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const fault = toFault(err)
  const { statusCode, code } = fault
  logFault(request.log, 'request', { code, statusCode }, err, request)
  sendFault(fault, request, reply)
}

function handleNotFound(request: FastifyRequest, reply: FastifyReply): void {
  handleError(new HTTP_ERR_ROUTE_NOT_FOUND(request.method), request, reply)
}

/** Like `handleNotFound`, but replies 405 with `Allow` for a path that accepts other methods. */
export function createNotFoundHandler(allowed: AllowedMethods) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const methods = allowed.of(request.url)
    // A wildcard route accepts the method but has no such path.
    if (methods.length === 0 || methods.includes(request.method)) return handleNotFound(request, reply)
    reply.header('allow', methods.join(', '))
    handleError(new HTTP_ERR_METHOD_NOT_ALLOWED(request.method), request, reply)
  }
}

/** A plugin that gives an app's other routes, and its 404s, the same error body. */
export const errorHandler = fp(
  async (app: FastifyInstance) => {
    app.setErrorHandler(handleError)
    app.setNotFoundHandler(handleNotFound)
  },
  { name: '@svc/http/error-handler', fastify: '5.x' }
)

/** Replies with the error of a failed run, which the engine has logged. */
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
