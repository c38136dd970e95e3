import type { FastifyInstance } from 'fastify'
import { REG_ERR_OLD_NODE } from '@svc/contract'

// One per process, even if several copies of the package are installed.
const SERVERS = Symbol.for('@svc/registry/servers')
const holder = globalThis as { [SERVERS]?: WeakSet<object> }
const servers = (holder[SERVERS] ??= new WeakSet())

/**
 * Warns, once per server and when its app is ready, if clients may send a request without a time limit: time-outs belong to the
 * server, and Fastify sets none for requests.
 */
export function warnOfTimeouts(app: FastifyInstance): void {
  if (servers.has(app.server)) return
  servers.add(app.server)
  app.addHook('onReady', async () => {
    // HTTP/2 servers have neither.
    const { requestTimeout, headersTimeout } = app.server as {
      requestTimeout?: number
      headersTimeout?: number
    }
    if (requestTimeout !== 0) return
    app.log.warn(
      { requestTimeout, headersTimeout },
      'slow clients can hold connections: set requestTimeout, http.headersTimeout and ' +
        'http.connectionsCheckingInterval of the app'
    )
  })
}

/** The oldest supported Node, as in `engines`. */
const OLDEST = [22, 16] as const

/** Checks the version of Node at start; on an older one the first request would fail. @throws REG_ERR_OLD_NODE */
export function requireNode(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isNew = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])
  if (!isNew) throw new REG_ERR_OLD_NODE(OLDEST.join('.'), version)
}
