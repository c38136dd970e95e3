import { defined } from '@svc/contract'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ConsoleSettings, Surfaces } from './options.ts'

/** A file of the page, in every encoding in which it is sent. */
export interface PageFile {
  /** Below the prefix, without a leading slash; the document is `index.html`. */
  readonly path: string
  readonly body: Buffer
  /** Absent if they are no smaller. */
  readonly encoded: { readonly br?: Buffer; readonly gzip?: Buffer }
}

/** The endings of compressed files, by their encodings. */
export const ENCODINGS = { br: '.br', gzip: '.gz' } as const
export type Encoding = keyof typeof ENCODINGS

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8'
}

/** The media type of a file, by the ending of its name. */
function typeOf(path: string): string {
  const type = TYPES[path.slice(path.lastIndexOf('.') + 1)]
  if (type === undefined) throw new Error(`no media type is known for ${path}`)
  return type
}

/** True if the name of a file has the hash of its content, so that it can be kept without asking. */
const isImmutable = (path: string): boolean => /-[0-9A-Z]{8}\.\w+$/.test(path)

/** The entity tag of a file, one for each encoding: RFC 9110, section 8.8.3. */
function etagOf(body: Buffer, encoding?: Encoding): string {
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 22)
  return encoding === undefined ? `"${hash}"` : `"${hash}-${encoding}"`
}

/** Compresses a file. @param quality of Brotli, 0 to 11 */
export async function compressFile(path: string, body: Buffer, quality: number): Promise<PageFile> {
  const [br, zipped] = await Promise.all([
    promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }),
    promisify(gzip)(body, { level: 9 })
  ])
  const smaller = (file: Buffer) => (file.length < body.length ? file : undefined)
  const [asBr, asGzip] = [smaller(br), smaller(zipped)]
  return { path, body, encoded: defined({ br: asBr, gzip: asGzip }) }
}

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

/** What the page reads at its start, from `config.json` beside it. */
export interface PageConfig {
  readonly title: string
  /** The addresses of surfaces, relative to the document: the page works behind proxies that change its path. */
  readonly surfaces: { readonly [Name in keyof Surfaces]-?: string | undefined } & { readonly http: string }
  /** Where visitors sign in, relative to the document. */
  readonly signIn?: string | undefined
}

/** What the page of a prefix has to know. */
export function describePage({ title, surfaces, signIn }: ConsoleSettings, prefix: string): PageConfig {
  const addresses = Object.entries(surfaces).map(([name, path]) => [name, relativeTo(prefix, path)])
  return {
    title,
    surfaces: Object.fromEntries(addresses) as PageConfig['surfaces'],
    ...(signIn !== undefined && { signIn: relativeTo(prefix, signIn) })
  }
}

/** The path of the app as seen from the document of a prefix, `/prefix/`. */
function relativeTo(prefix: string, path: string): string {
  const up = prefix.split('/').filter(Boolean)
  const down = path.split('/').filter(Boolean)
  let shared = 0
  while (shared < up.length && shared < down.length && up[shared] === down[shared]) shared++
  const steps = [...up.slice(shared).map(() => '..'), ...down.slice(shared)]
  // `./` keeps a first segment with a colon from being a scheme: RFC 3986, section 4.2.
  return `${steps[0] === '..' ? '' : './'}${steps.join('/')}`
}
