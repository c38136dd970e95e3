import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createPublicLookup } from '@svc/registry/engine'
import t from 'tap'
import { fetchUrl, requireAllowedUrl, type UrlOptions } from '../../src/files/urls.ts'
import { RUN_ERR_URL_REFUSED } from '../../src/errors.ts'

const options: UrlOptions = { allowHosts: [], maxBytes: 1_000, timeout: 2_000 }
const { signal } = new AbortController()

async function serve(
  t: { teardown(fn: () => unknown): void },
  answer: (reply: ServerResponse, request: IncomingMessage) => void
) {
  const seen: string[] = []
  const server = createServer((request, reply) => {
    seen.push(`${request.headers.host}${request.url}`)
    answer(reply, request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => (server.closeAllConnections(), server.close()))
  const { port } = server.address() as AddressInfo
  return { seen, port, host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}/a` }
}

/** A resolver with a fixed answer. */
const resolver = (...addresses: string[]) =>
  ((_name: string, _options: object, done: (err: null, found: LookupAddress[]) => void) =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    )) as never

t.test('a private address is refused in every notation, without a request', async (t) => {
  const { seen, port } = await serve(t, (reply) => reply.end('SECRET'))
  const hosts = [
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '0x7f.1',
    '0x7f000001',
    '2130706433',
    '0177.0.0.1',
    '0177.1',
    '00000177.0.0.1',
    '127.0.0.1.',
    '%31%32%37.0.0.1',
    '１２７.0.0.1',
    '127。0。0。1',
    '①②⑦.0.0.1',
    '0',
    '0.0.0.0',
    '[::]',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:ffff:127.0.0.1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[fe80::1]',
    '[fd00:ec2::254]',
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    '169.254.169.254',
    '0xa9fea9fe',
    '2852039166',
    '[::ffff:a9fe:a9fe]',
    'metadata.google.internal',
    'metadata',
    '10.0.0.1',
    '192.168.1.1',
    '172.16.0.1',
    '100.100.100.200',
    'printer.local',
    'router.lan',
    'x.home.arpa'
  ]
  for (const host of hosts)
    for (const url of [`http://${host}:${port}/`, `https://${host}/`, `http://${host}:${port}@${host}/`]) {
      const refused = { code: /^RUN_ERR_(URL_REFUSED|BAD_INPUT)$/ }
      await t.rejects(fetchUrl(url, options, signal), refused, url)
    }
  t.strictSame(seen, [])
})

t.test('other protocols and credentials are refused', async (t) => {
  for (const url of [
    'file:///etc/passwd',
    'ftp://example.org/',
    'gopher://example.org',
    'data:text/plain,x',
    'nonsense',
    ''
  ])
    t.throws(() => requireAllowedUrl(url, options), { code: 'RUN_ERR_BAD_INPUT' }, url)
  for (const url of [
    'http://user@example.org/',
    'http://user:pw@example.org/',
    'http://example.org@127.0.0.1/'
  ])
    t.throws(() => requireAllowedUrl(url, options), { code: 'RUN_ERR_URL_REFUSED' }, url)
  t.equal(requireAllowedUrl('https://example.org/a?b', options).href, 'https://example.org/a?b')
  t.equal(requireAllowedUrl('https://8.8.8.8/', options).hostname, '8.8.8.8')
})

t.test('a name that resolves to a private address is refused on connect', async (t) => {
  const { seen, port } = await serve(t, (reply) => reply.end('SECRET'))
  for (const addresses of [
    ['127.0.0.1'],
    ['8.8.8.8', '127.0.0.1'],
    ['::1'],
    ['::ffff:127.0.0.1'],
    ['169.254.169.254'],
    []
  ]) {
    const lookup = createPublicLookup(RUN_ERR_URL_REFUSED, resolver(...addresses))
    const fetching = fetchUrl(`http://rebind.example.org:${port}/`, options, signal, lookup)
    await t.rejects(fetching, { code: 'RUN_ERR_URL_REFUSED' }, addresses.join())
  }
  t.strictSame(seen, [])
})

t.test('the connection uses the checked address', async (t) => {
  let asked = 0
  const flipping = ((name: string, of: object, done: never) =>
    (resolver(asked++ === 0 ? '192.0.1.1' : '127.0.0.1') as (...args: unknown[]) => void)(
      name,
      of,
      done
    )) as never
  const lookup = createPublicLookup(RUN_ERR_URL_REFUSED, flipping)
  const found = await new Promise((resolve) =>
    lookup('x.example.org', { all: true }, (_err, addresses) => resolve(addresses))
  )
  t.strictSame(found, [{ address: '192.0.1.1', family: 4 }])
  const one = await new Promise((resolve) => lookup('x.example.org', {}, (err) => resolve(err)))
  t.match(one, { code: 'RUN_ERR_URL_REFUSED' }, 'each connection is checked')
  const failing = createPublicLookup(RUN_ERR_URL_REFUSED, ((
    _n: string,
    _o: object,
    done: (err: Error) => void
  ) => done(new Error('no'))) as never)
  t.match(await new Promise((resolve) => failing('x', {}, (err) => resolve(err))), { message: 'no' })
  const single = createPublicLookup(RUN_ERR_URL_REFUSED, resolver('8.8.8.8'))
  t.equal(await new Promise((resolve) => single('x', {}, (_err, address) => resolve(address))), '8.8.8.8')
})

t.test('allowed URLs are fetched, through allowed redirects too', async (t) => {
  const { seen, host, url } = await serve(t, (reply, { url: path }) => {
    if (path === '/a') reply.writeHead(302, { location: '/b' }).end()
    else reply.end('hello')
  })
  const allowed = { ...options, allowHosts: [host] }
  t.equal(String(await fetchUrl(url, allowed, signal)), 'hello')
  t.equal(seen.length, 2)
})

t.test('a redirect to a private address is refused', async (t) => {
  const inner = await serve(t, (reply) => reply.end('SECRET'))
  for (const location of [inner.url, `http://localhost:${inner.port}/`, 'http://0x7f.1/', '//127.0.0.1/']) {
    const outer = await serve(t, (reply) => reply.writeHead(307, { location }).end())
    const fetching = fetchUrl(outer.url, { ...options, allowHosts: [outer.host] }, signal)
    await t.rejects(fetching, { code: 'RUN_ERR_URL_REFUSED' }, location)
  }
  const looping = await serve(t, (reply) => reply.writeHead(302, { location: '/again' }).end())
  const allowed = { ...options, allowHosts: [looping.host] }
  await t.rejects(fetchUrl(looping.url, allowed, signal), {
    code: 'RUN_ERR_URL_FAILED',
    message: /3 redirects/
  })
  t.equal(looping.seen.length, 4)
  const odd = await serve(t, (reply) => reply.writeHead(302, { location: 'file:///etc/passwd' }).end())
  await t.rejects(fetchUrl(odd.url, { ...options, allowHosts: [odd.host] }, signal), { code: /RUN_ERR_URL_/ })
  t.strictSame(inner.seen, [])
})

t.test('size and time are bounded', async (t) => {
  const answers: Record<string, (reply: ServerResponse) => void> = {
    declared: (reply) => reply.writeHead(200, { 'content-length': '2000' }).write('x'),
    endless: (reply) => {
      const timer = setInterval(() => reply.write('x'.repeat(300)), 1)
      reply.on('close', () => clearInterval(timer))
    },
    compressed: (reply) => reply.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
    missing: (reply) => reply.writeHead(404).end('SECRET')
  }
  for (const [name, answer] of Object.entries(answers)) {
    const { host, url } = await serve(t, answer)
    await t.rejects(
      fetchUrl(url, { ...options, allowHosts: [host] }, signal),
      { code: 'RUN_ERR_URL_FAILED' },
      name
    )
  }
  const silent = [() => {}, (reply: ServerResponse) => void reply.writeHead(200).write('x')]
  for (const answer of silent) {
    const { host, url } = await serve(t, answer)
    const begun = performance.now()
    const fetching = fetchUrl(url, { ...options, timeout: 100, allowHosts: [host] }, signal)
    await t.rejects(fetching, { code: 'RUN_ERR_URL_FAILED', message: /100 ms/ })
    t.ok(performance.now() - begun < 1_000)
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('gone')), 20)
    await t.rejects(fetchUrl(url, { ...options, allowHosts: [host] }, controller.signal), { message: 'gone' })
  }
})

t.test('a host that does not answer', async (t) => {
  const closers: (() => unknown)[] = []
  const { host, url } = await serve({ teardown: (close) => void closers.push(close) }, () => {})
  for (const close of closers) close()
  const fetching = fetchUrl(url, { ...options, allowHosts: [host] }, signal)
  await t.rejects(fetching, {
    code: 'RUN_ERR_URL_FAILED',
    message: 'A URL of the input could not be fetched: no answer'
  })
})
