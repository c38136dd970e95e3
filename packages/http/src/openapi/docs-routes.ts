import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'
import type { OpenApi } from './open-api.ts'
import type { ResolvedSwagger } from './swagger-options.ts'

/**
 * `GET <docsPath>`: a page to read and try the API, without requests to other hosts. `GET <specPath>`: the document.
 * @param hasAuthentication whether the routes require credentials; `protect` needs it
 * @throws HTTP_ERR_BAD_OPTION
 */
export async function docsRoutes(
  scope: FastifyInstance,
  openApi: OpenApi,
  settings: ResolvedSwagger,
  hasAuthentication: boolean
): Promise<void> {
  const { docsPath, specPath, servers, title, protect } = settings
  if (protect && !hasAuthentication)
    throw new HTTP_ERR_BAD_OPTION('swagger/protect: no authentication is configured')
  requireFreePath(scope, docsPath)
  const document = () => openApi.document()

  await scope.register(async (docs) => {
    docs.decorate('access', protect ? 'authenticated' : 'open')
    docs.addHook('onRequest', async (_request, reply) => {
      reply.headers({ 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
    })
    docs.addHook('onRequest', redirectToSlash(scope.prefix + docsPath))
    // The page serves the document there itself.
    if (specPath !== `${docsPath}/json`) docs.get(specPath, { schema: { hide: true } }, document)

    // The plugin of the page depends on it; the document is ours.
    await docs.register(import('@fastify/swagger'))
    await docs.register(import('@fastify/swagger-ui'), {
      routePrefix: docsPath,
      indexPrefix: scope.prefix,
      theme: { title: escapeHtml(title) },
      staticCSP: contentSecurityPolicy(servers),
      transformSpecification: () => ({ ...document() }),
      transformSpecificationClone: false
    })
  })
}

// Routes of the page. A duplicate would end the process: the page's plugin throws where it cannot be caught.
const PAGE_ROUTES = ['', '/', '/json', '/yaml']

function requireFreePath(scope: FastifyInstance, docsPath: string): void {
  for (const url of PAGE_ROUTES.map((route) => scope.prefix + docsPath + route))
    if (scope.hasRoute({ method: 'GET', url }))
      throw new HTTP_ERR_BAD_OPTION(`swagger/docsPath: the app has a route "${url}"; choose another path`)
}

// The page's links are relative and need a trailing slash; the redirect is relative for proxies that rewrite paths.
function redirectToSlash(path: string) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { url } = request.routeOptions
    if (url !== path && url !== `${path}/`) return
    const [asked = ''] = request.url.split('?')
    if (request.url !== asked || !asked.endsWith('/'))
      await reply.redirect(asked.endsWith('/') ? './' : `./${path.slice(path.lastIndexOf('/') + 1)}/`)
  }
}

// The page does not escape its title.
function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

// Without `upgrade-insecure-requests`, which breaks the page on plain HTTP.
function contentSecurityPolicy(servers: ResolvedSwagger['servers']): string {
  const others = servers.filter(({ url }) => URL.canParse(url)).map(({ url }) => new URL(url).origin)
  return [
    "default-src 'self'",
    "base-uri 'none'",
    ["connect-src 'self'", ...new Set(others)].join(' '),
    "form-action 'self'",
    "frame-ancestors 'self'",
    "img-src 'self' data:",
    "object-src 'none'",
    "style-src 'self' 'unsafe-inline'"
  ].join('; ')
}
