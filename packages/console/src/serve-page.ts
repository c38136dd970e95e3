import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { PageConfig } from './page-config.ts'
import { etagOf, isImmutable, typeOf, type Encoding, type PageFile } from './page-file.ts'

/** The page may load nothing but its own files and the routes of its origin; `blob:` are images and audio that it has fetched. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "img-src 'self' blob:",
  "media-src 'self' blob:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'"
].join('; ')

const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(self)',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff'
}

const DOCUMENT = 'index.html'
const YEAR = 'public, max-age=31536000, immutable'
// The routes are none of an API: documents of the app leave them out.
const schema = { hide: true } as object

/** Serves the files of the page and its configuration below the prefix of a scope; `/prefix` leads to `/prefix/`. */
export function servePage(scope: FastifyInstance, files: readonly PageFile[], config: PageConfig): void {
  scope.addHook('onRequest', (_request, reply, done) => {
    reply.headers(HEADERS)
    done()
  })
  for (const file of files) {
    const variants = variantsOf(file)
    const send = (request: FastifyRequest, reply: FastifyReply) => sendFile(request, reply, file, variants)
    scope.get(file.path === DOCUMENT ? '/' : `/${file.path}`, { schema, prefixTrailingSlash: 'slash' }, send)
  }
  const last = scope.prefix.replace(/\/+$/, '').split('/').at(-1)
  if (last !== undefined && last !== '')
    scope.get('', { schema, prefixTrailingSlash: 'no-slash' }, (_request, reply) =>
      reply.code(308).header('location', `./${last}/`).send()
    )
  scope.get('/config.json', { schema }, (_request, reply) =>
    reply.header('cache-control', 'no-cache').send(config)
  )
}

interface Variant {
  readonly body: Buffer
  readonly etag: string
}

function variantsOf({ body, encoded }: PageFile): ReadonlyMap<Encoding | undefined, Variant> {
  const variants = new Map<Encoding | undefined, Variant>([[undefined, { body, etag: etagOf(body) }]])
  for (const encoding of ['br', 'gzip'] as const) {
    const file = encoded[encoding]
    if (file !== undefined) variants.set(encoding, { body: file, etag: etagOf(body, encoding) })
  }
  return variants
}

function sendFile(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { path }: PageFile,
  variants: ReadonlyMap<Encoding | undefined, Variant>
): FastifyReply {
  const accepted = (['br', 'gzip'] as const).find(
    (encoding) => variants.has(encoding) && accepts(headers['accept-encoding'], encoding)
  )
  const { body, etag } = variants.get(accepted)!
  reply.headers({
    'cache-control': isImmutable(path) ? YEAR : 'no-cache',
    etag,
    vary: 'accept-encoding'
  })
  if (matches(headers['if-none-match'], etag)) return reply.code(304).send()
  if (accepted !== undefined) reply.header('content-encoding', accepted)
  return reply.type(typeOf(path)).send(body)
}

/** Whether an `Accept-Encoding` names an encoding, or `*`, with a weight above 0. RFC 9110, section 12.5.3. */
function accepts(header: string | string[] | undefined, encoding: Encoding): boolean {
  const weights = new Map<string, boolean>()
  for (const each of String(header ?? '').split(',')) {
    const [name = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase())
    weights.set(name, !parameters.some((parameter) => /^q=0(?:\.0{0,3})?$/.test(parameter)))
  }
  return weights.get(encoding) ?? weights.get('*') ?? false
}

/** Whether an `If-None-Match` names an entity tag: RFC 9110, section 13.1.2. */
function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return header.trim() === '*' || header.split(',').some((each) => each.trim().replace(/^W\//, '') === etag)
}
