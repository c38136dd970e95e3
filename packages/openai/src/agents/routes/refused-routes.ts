import type { FastifyInstance } from 'fastify'
import { OPENAI_ERR_ROUTE_NOT_FOUND, OPENAI_ERR_UNSUPPORTED } from '../../errors.ts'
import { REPLIES } from './request-schemas.ts'

// What the service does not have, below its paths.
const UNSERVED = {
  'traces of sessions': '/agents/sessions/:session_id/traces',
  environments: '/agents/environments',
  vaults: '/vaults'
} as const

/** Refuses what the Agents API has beyond this service, and unknown paths below it. */
export function refusedRoutes(scope: FastifyInstance): void {
  for (const [what, path] of Object.entries(UNSERVED)) {
    const refuse = () => {
      throw new OPENAI_ERR_UNSUPPORTED(what)
    }
    const schema = { hide: true, response: REPLIES.refused }
    for (const url of [path, `${path}/*`])
      scope.route({ method: ['GET', 'POST', 'DELETE'], url, schema, exposeHeadRoute: false, handler: refuse })
  }
  scope.route({
    method: ['GET', 'POST', 'DELETE'],
    url: '/agents/*',
    schema: { hide: true, response: REPLIES.refused },
    exposeHeadRoute: false,
    handler: ({ method, url }) => {
      throw new OPENAI_ERR_ROUTE_NOT_FOUND(`${method} ${url.split('?', 1)[0]}`)
    }
  })
}
