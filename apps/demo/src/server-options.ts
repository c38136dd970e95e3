import type { IncomingMessage } from 'node:http'
import { clientErrorHandler, frameworkErrors } from '@svc/http'
import type { FastifyServerOptions } from 'fastify'

/**
 * Limits of the server itself, which no plugin can set. They apply to receiving a request; a reply, such as an event stream,
 * may take any time, and idle connections are kept alive.
 */
export const SERVER_OPTIONS = {
  requestTimeout: 30_000,
  keepAliveTimeout: 72_000,
  http: {
    headersTimeout: 10_000,
    connectionsCheckingInterval: 2_000,
    // A client that asks for HTTP/2 is answered in HTTP/1.1: the gateway handles upgrades to WebSocket only.
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === 'websocket'
  },
  // The longest name of a runnable, with every character escaped.
  routerOptions: { maxParamLength: 128 * 12 },
  // While it closes, the surfaces refuse what they cannot take any more, with Retry-After.
  return503OnClosing: false,
  // A closing app drops idle connections; streams get their last part before.
  forceCloseConnections: true,
  frameworkErrors,
  clientErrorHandler
} satisfies FastifyServerOptions & { http: object }
