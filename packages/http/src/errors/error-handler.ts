import { isExposed } from '@svc/contract'
import { logFault, sendRefusal, type Refusal } from '@svc/surface'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { HTTP_ERR_METHOD_NOT_ALLOWED, HTTP_ERR_ROUTE_NOT_FOUND } from '../errors.ts'
import { errors } from '../surface-errors.ts'
import { acceptsProblem, PROBLEM, toErrorBody, toFault, toProblem } from './to-error-body.ts'

/**
 * Logs an error once, without client data, and replies with the error body. As `Fastify({ frameworkErrors })` it also
 * covers URLs that Fastify refuses before any plugin sees them.
 */
export function handleError(err: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const fault = toFault(err)
  const { statusCode, code } = fault
  logFault(request.log, 'request', { code, statusCode }, err, request)
  sendFault(err, fault, request, reply)
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
  sendFault(err, toFault(err), request, reply)
}

function sendFault(err: unknown, fault: Refusal, request: FastifyRequest, reply: FastifyReply): void {
  const wantsProblem = acceptsProblem(request.headers.accept)
  const body = wantsProblem ? toProblem(fault, request.id) : toErrorBody(fault, request.id)
  const type = wantsProblem ? PROBLEM : undefined
  void sendRefusal(reply, isExposed(err) ? err : undefined, errors, fault.statusCode, body, type)
}

/** The methods that the routes of a scope accept, by path. */
export interface AllowedMethods {
  /** The methods of a URL, sorted; empty if no route has its path. */
  of(url: string): string[]
}

/** Records the routes added to a scope from now on. */
export function learnMethods(scope: Pick<FastifyInstance, 'addHook'>): AllowedMethods {
  const routes: { pattern: string[]; methods: string[] }[] = []
  scope.addHook('onRoute', ({ method, url }) => {
    routes.push({ pattern: url.split('/'), methods: [method].flat() })
  })
  return {
    of(url) {
      const path = url.split(/[?#]/, 1)[0]!.split('/')
      const found = routes.filter(({ pattern }) => fits(pattern, path))
      return [...new Set(found.flatMap(({ methods }) => methods))].toSorted()
    }
  }
}

function fits(pattern: readonly string[], path: readonly string[]): boolean {
  if (pattern.at(-1) !== '*' && pattern.length !== path.length) return false
  return pattern.every((segment, index) => {
    const asked = path[index]
    if (segment === '*') return asked !== undefined
    return segment.startsWith(':') ? asked !== '' : segment === decode(asked)
  })
}

function decode(segment = ''): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
