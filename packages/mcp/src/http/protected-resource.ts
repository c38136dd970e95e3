import type { FastifyInstance } from 'fastify'
import { baseUrlOf, originOf, rootOf, type AddressedRequest } from '@svc/surface'
import { MCP_ERR_BAD_REQUEST } from '../errors.ts'
import type { McpSettings } from '../options.ts'
import { allowOrigin, answerPreflights, HIDDEN } from './guard-origins.ts'

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/**
 * Serves the metadata of the endpoint as a protected resource, to all pages, and names their URL in the challenges of a scope. RFC 9728
 */
export function describeResource(
  scope: FastifyInstance,
  path: string,
  { url, authorizationServers, scopes, title, name }: McpSettings
): void {
  if (authorizationServers === undefined) return
  const resourceOf = (request: AddressedRequest) => URL.parse(baseUrlOf({ url, prefix: path }, request))
  const root = rootOf(scope)
  const metadataPath = `${WELL_KNOWN}${path}`

  root.get(metadataPath, { schema: HIDDEN }, (request, reply) => {
    const resource = resourceOf(request)
    if (resource === null) throw new MCP_ERR_BAD_REQUEST('the Host header names no host')
    allowOrigin(reply, '*')
    return {
      resource: url ?? resource.href,
      authorization_servers: authorizationServers,
      bearer_methods_supported: ['header'],
      ...(scopes.length > 0 && { scopes_supported: scopes }),
      resource_name: title ?? name
    }
  })
  answerPreflights(root, metadataPath, 'GET', (_request, reply) => allowOrigin(reply, '*'))

  scope.addHook('onSend', (request, reply, _payload, done) => {
    const challenge = reply.getHeader('www-authenticate')
    const resource = resourceOf(request)
    if (typeof challenge === 'string' && resource !== null) {
      const { origin, pathname } = resource
      // A proxy that strips a prefix passes on only what has it.
      const metadata =
        url === undefined
          ? originOf(request) + metadataPath
          : `${origin}${WELL_KNOWN}${pathname === '/' ? '' : pathname}`
      const separator = challenge.includes('=') ? ', ' : ' '
      reply.header('www-authenticate', `${challenge}${separator}resource_metadata="${metadata}"`)
    }
    done()
  })
}
