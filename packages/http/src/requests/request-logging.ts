import { onReplyOver } from '@svc/surface'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

/**
 * Logs one line per request, when it completes or its client disconnects: method, route pattern, status, duration, run
 * and principal; never a body, query or header. Use it with
 * `logController: new LogController({ disableRequestLogging: true })`, since Fastify's own lines contain the query.
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
    // Undefined on the app's own routes.
    ...((principal as typeof principal | undefined) && { principal: principal.sub })
  }
}

/** The plugin `requestLogging`. */
export const requestLogging = fp(logRequests, { name: '@svc/http/request-logging', fastify: '5.x' })
