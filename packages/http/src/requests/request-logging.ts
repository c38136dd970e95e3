import { onReplyOver } from '@svc/registry/sse'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

/**
 * Logs one line a request, when it is over or its client has gone: method, route pattern, status, duration, run and principal. Never a body, a
 * query or a header. Use it with `logController: new LogController({ disableRequestLogging: true })`: Fastify's own lines tell
 * the query.
 */
async function logRequests(app: FastifyInstance): Promise<void> {
  app.addHook('onRequest', (request, reply, done) => {
    onReplyOver(reply.raw, (isComplete) => {
      request.log.info(describe(request, reply), isComplete ? 'request completed' : 'request aborted')
    })
    done()
  })
}

function describe({ method, routeOptions, principal }: FastifyRequest, reply: FastifyReply): object {
  const runId = reply.getHeader('x-run-id')
  return {
    method,
    route: routeOptions.url ?? null,
    statusCode: reply.statusCode,
    durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
    ...(runId !== undefined && { runId }),
    // Undefined on routes that are not of this plugin.
    ...((principal as typeof principal | undefined) && { principal: principal.sub })
  }
}

/** The plugin `requestLogging`. */
export const requestLogging = fp(logRequests, { name: '@svc/http/request-logging', fastify: '5.x' })
