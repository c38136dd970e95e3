import type { IncomingMessage } from 'node:http'
import { clientErrorHandler, frameworkErrors } from '@svc/http'
import type { FastifyServerOptions } from 'fastify'

/**
 * Bounds of the server itself, which no plugin can set. They are for receiving a request; a reply, such as an event stream,
 * may take as long as it wants, and an idle connection is kept for the next request.
 */
export const SERVER_OPTIONS = {
  requestTimeout: 30_000,
  keepAliveTimeout: 72_000,
  http: {
    headersTimeout: 10_000,
    connectionsCheckingInterval: 2_000,
    // Clients that would like HTTP/2 are answered in HTTP/1.1; the gateway only knows what to do with WebSockets.
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === 'websocket'
  },
  // The longest name of a runnable, with every character escaped.
  routerOptions: { maxParamLength: 128 * 12 },
  // A closing app drops connections on which no request is under way; streams are told before.
  forceCloseConnections: true,
  frameworkErrors,
  clientErrorHandler
} satisfies FastifyServerOptions & { http: object }
