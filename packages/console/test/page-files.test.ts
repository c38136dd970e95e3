import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import consolePage, { errors } from '@svc/console'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { bundlePage } from '../page/build/bundled-page.ts'

/** Bytes of all files of the page, compressed. */
const MAX_SIZE = 60 * 1_024

async function serve(options: object = {}, prefix = '/console'): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(consolePage, { prefix, ...options })
  await app.ready()
  return app
}

const assetsOf = (html: string) => [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path)

// Every browser takes Brotli from a secure origin.
t.test('the whole page has at most 60 KB with Brotli', async (t) => {
  const files = await bundlePage(11)
  const sum = (encoding: 'br' | 'gzip') =>
    files
      .filter(({ path }) => path !== 'licenses.txt')
      .reduce((total, { body, encoded }) => total + (encoded[encoding] ?? body).length, 0)
  t.comment(`${sum('br')} bytes with Brotli, ${sum('gzip')} with gzip`)
  t.ok(sum('br') <= MAX_SIZE)
  const licenses = files.find(({ path }) => path === 'licenses.txt')!.body.toString()
  for (const name of ['preact', '@preact/signals', 'marked', 'eventsource-parser'])
    t.match(licenses, new RegExp(`^${name} \\d`, 'm'))
  t.match(licenses, /Permission is hereby granted/)
})

t.test('the document has no inline code, and addresses relative to it', async (t) => {
  const app = await serve()
  const { statusCode, headers, body } = await app.inject('/console/')
  t.equal(statusCode, 200)
  t.notMatch(body, /<style|style=|<script[^>]*>[^<]|\son\w+=/)
  for (const path of assetsOf(body)) {
    t.notMatch(path, /^\/|:/)
    const asset = await app.inject(`/console/${path}`)
    t.equal(asset.statusCode, 200, path)
    t.equal(asset.headers['cache-control'], 'public, max-age=31536000, immutable')
  }
  t.match(headers, {
    'cache-control': 'no-cache',
    'content-type': 'text/html; charset=utf-8',
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff'
  })
  const policy = String(headers['content-security-policy']).split('; ')
  for (const directive of [
    "default-src 'self'",
    "img-src 'self' blob:",
    "media-src 'self' blob:",
    "object-src 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'"
  ])
    t.ok(policy.includes(directive), directive)
})

t.test('files are sent as the client accepts them, and not again', async (t) => {
  const app = await serve()
  const { body } = await app.inject('/console/')
  const script = `/console/${assetsOf(body).find((path) => path.endsWith('.js'))}`
  const get = (headers: Record<string, string>) => app.inject({ url: script, headers })
  const plain = await get({})
  t.equal(plain.headers['content-encoding'], undefined)
  const brotli = await get({ 'accept-encoding': 'gzip, deflate, br' })
  t.equal(brotli.headers['content-encoding'], 'br')
  t.ok(brotliDecompressSync(brotli.rawPayload).equals(plain.rawPayload))
  const gzip = await get({ 'accept-encoding': 'br;q=0, *' })
  t.equal(gzip.headers['content-encoding'], 'gzip')
  t.ok(gunzipSync(gzip.rawPayload).equals(plain.rawPayload))
  for (const { headers } of [plain, brotli, gzip]) t.equal(headers.vary, 'accept-encoding')
  t.equal(new Set([plain, brotli, gzip].map(({ headers }) => headers.etag)).size, 3)
  const again = await get({ 'accept-encoding': 'br', 'if-none-match': String(brotli.headers.etag) })
  t.equal(again.statusCode, 304)
  t.equal(again.body, '')
  const head = await app.inject({ method: 'HEAD', url: script })
  t.equal(head.statusCode, 200)
  t.equal(head.body, '')
})

t.test('the addresses of surfaces are relative to the page, whatever its prefix', async (t) => {
  const surfaces = { http: '/api', a2a: '/a2a' }
  const cases = [
    ['/console', '../api', '../a2a'],
    ['/', './api', './a2a'],
    ['/api/console', '..', '../../a2a'],
    ['/x/y/z', '../../../api', '../../../a2a']
  ]
  for (const [prefix = '', http, a2a] of cases) {
    const app = await serve({ surfaces, title: 'Desk', signIn: '/login' }, prefix)
    const base = prefix === '/' ? '' : prefix
    t.match((await app.inject(`${base}/config.json`)).json(), { title: 'Desk', surfaces: { http, a2a } })
    const { statusCode, headers } = await app.inject(`${base}/`)
    t.equal(statusCode, 200, prefix)
    t.equal(headers['content-type'], 'text/html; charset=utf-8')
  }
  const app = await serve()
  t.strictSame((await app.inject('/console/config.json')).json(), {
    title: 'Console',
    surfaces: { http: '../api' }
  })
  t.match(await app.inject('/console'), { statusCode: 308, headers: { location: './console/' } })
  t.equal((await app.inject('/console/assets/other.js')).statusCode, 404)
})

t.test('bad options, and a second console in one place, are refused', async (t) => {
  const bad = [
    { title: '' },
    { titel: 'x' },
    { surfaces: { http: 'https://example.org/api' } },
    { surfaces: { http: '//example.org' } },
    { surfaces: { soap: '/x' } },
    { signIn: 'javascript:alert(1)' }
  ]
  for (const options of bad)
    await t.rejects(serve(options), { code: new errors.CON_ERR_BAD_OPTION('').code }, JSON.stringify(options))
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(consolePage, { prefix: '/console' })
  await t.rejects(Promise.resolve(app.register(consolePage, { prefix: '/console/' })), {
    code: 'CON_ERR_REGISTERED_TWICE',
    message: /prefix "\/console"/
  })
})

t.test('a console changes nothing else in the app', async (t) => {
  const app = await serve()
  t.equal(app.hasRoute({ method: 'GET', url: '/other' }), false)
  const other = await app.inject('/other')
  t.equal(other.statusCode, 404)
  t.equal(other.headers['content-security-policy'], undefined)
})
