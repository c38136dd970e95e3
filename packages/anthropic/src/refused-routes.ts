import type { FastifyInstance, FastifySchema, HTTPMethods } from 'fastify'
import {
  ANTHROPIC_ERR_READ_ONLY,
  ANTHROPIC_ERR_ROUTE_NOT_FOUND,
  ANTHROPIC_ERR_UNSUPPORTED
} from './errors.ts'

type Route = readonly [method: HTTPMethods, path: string]

const DEFINED: Readonly<Record<string, readonly Route[]>> = {
  Agents: [
    ['POST', '/agents'],
    ['POST', '/agents/:id'],
    ['POST', '/agents/:id/archive']
  ],
  Environments: [
    ['POST', '/environments'],
    ['POST', '/environments/:id'],
    ['DELETE', '/environments/:id'],
    ['POST', '/environments/:id/archive']
  ]
}

/** What the protocol has and the service has not, by the first name of its paths. */
const MISSING = {
  'work of environments': ['/environments/:id/work', '/environments/:id/work/*'],
  'resources of sessions': ['/sessions/:id/resources', '/sessions/:id/resources/*'],
  'archiving a thread': ['/sessions/:id/threads/:thread/archive'],
  vaults: ['/vaults', '/vaults/*'],
  'memory stores': ['/memory_stores', '/memory_stores/*'],
  skills: ['/skills', '/skills/*'],
  dreams: ['/dreams', '/dreams/*'],
  'user profiles': ['/user_profiles', '/user_profiles/*']
}
const METHODS: HTTPMethods[] = ['GET', 'POST', 'DELETE']

// Ids that are longer than the router of the app takes fit no other route.
const SERVED = ['agents', 'environments', 'sessions', 'files', 'deployments', 'deployment_runs'] as const

/** Refuses what clients of the protocol may ask for and the service does not have, by saying so, and unknown paths below its own. */
export function refusedRoutes(scope: FastifyInstance): void {
  // The field is of @fastify/swagger, which only some of the packages have.
  const schema: FastifySchema & { hide: boolean } = { hide: true }
  for (const [what, routes] of Object.entries(DEFINED))
    for (const [method, path] of routes)
      scope.route({
        method,
        url: `/v1${path}`,
        schema,
        handler() {
          throw new ANTHROPIC_ERR_READ_ONLY(what)
        }
      })
  for (const [what, paths] of Object.entries(MISSING))
    for (const path of paths)
      scope.route({
        method: METHODS,
        url: `/v1${path}`,
        schema,
        exposeHeadRoute: false,
        handler() {
          throw new ANTHROPIC_ERR_UNSUPPORTED(what)
        }
      })
  for (const resource of SERVED)
    scope.route({
      method: METHODS,
      url: `/v1/${resource}/*`,
      schema,
      exposeHeadRoute: false,
      handler({ method, url }) {
        throw new ANTHROPIC_ERR_ROUTE_NOT_FOUND(`${method} ${url.split('?', 1)[0]}`)
      }
    })
}
