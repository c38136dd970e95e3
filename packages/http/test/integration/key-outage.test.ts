import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { claims, createTokenMaker } from '../auth/token-maker.ts'
import { buildApp, echo } from '../helpers/build-app.ts'
import { serveKeys, toJwk, type KeyServer } from '../helpers/key-server.ts'
import { requireError } from '../helpers/require-error.ts'

const one = createTokenMaker('RS256')
const two = createTokenMaker('RS256')
const stranger = createTokenMaker('RS256')
const ec = createTokenMaker('ES256')
const MINUTE = 60_000

/** Moves the monotonic clock of this process forward. */
function createClock({ teardown }: Test): (ms: number) => void {
  const { now } = performance
  let passed = 0
  performance.now = () => now.call(performance) + passed
  teardown(() => (performance.now = now))
  return (ms) => (passed += ms)
}

/** An app whose tokens are verified with the keys of a server, and the lines that it logs. */
async function buildKeyApp(t: Test, served: KeyServer, jwt: object = {}) {
  const lines = new EventEmitter()
  const stream = new Writable({
    write(line: Buffer, _encoding, done) {
      lines.emit('line', JSON.parse(line.toString()))
      done()
    }
  })
  const { url } = await buildApp(t, {
    runnables: [echo],
    fastify: { logger: { level: 'info', stream } },
    options: { jwt: { jwksUrl: served.url, algorithm: 'RS256', ...jwt } }
  })
  let tokens = 0
  return {
    /** The next line that says this. */
    async said(text: RegExp): Promise<void> {
      for (;;) {
        const [{ msg }] = (await once(lines, 'line')) as [{ msg: string }]
        if (text.test(msg)) return
      }
    },
    /** Asks with a token that was never sent before. */
    ask: (maker = one, kid: string | undefined = 'one') =>
      fetch(`${url}/runs`, {
        headers: { authorization: `Bearer ${maker.sign(claims({ jti: `${tokens++}` }), { kid })}` }
      })
  }
}

const statusesOf = async (responses: Promise<Response>[]) =>
  Promise.all(responses.map(async (response) => (await response).status))

t.test('a hanging key server does not delay known keys', async (t) => {
  const passTime = createClock(t)
  const served = await serveKeys(t, toJwk(one, { kid: 'one' }))
  const { ask } = await buildKeyApp(t, served)
  t.equal((await ask()).status, 200)

  const asked = new EventEmitter()
  const held: ServerResponse[] = []
  served.answer = (response) => (held.push(response), asked.emit('fetch'))
  passTime(MINUTE + 1)
  const fetching = once(asked, 'fetch')
  t.strictSame(
    await statusesOf(Array.from({ length: 20 }, () => ask())),
    Array.from({ length: 20 }, () => 200)
  )
  await fetching
  t.equal((await ask()).status, 200)
  t.equal(held.length, 1, 'one fetch for all')
  t.notOk(held[0]?.destroyed, 'and none of them waited for its end')
})

const HTML = '<!doctype html><title>Down for maintenance</title>'
const BAD_ANSWERS: Record<string, (response: ServerResponse) => unknown> = {
  'an empty set': (response) => response.end('{"keys":[]}'),
  'a set of other keys': (response) =>
    response.end(JSON.stringify({ keys: [toJwk(ec, { kid: 'one' }), { kty: 'oct', kid: 'one', k: 'eA' }] })),
  'no set': (response) => response.end('{"keys":{}}'),
  null: (response) => response.end('null'),
  'a 500': (response) => response.writeHead(500).end('{"keys":[]}'),
  'a 404 with keys': (response) =>
    response.writeHead(404).end(JSON.stringify({ keys: [toJwk(stranger, { kid: 'one' })] })),
  'a redirect': (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  HTML: (response) => response.end(HTML),
  garbage: (response) => response.end(Buffer.from([0xff, 0xfe, 0, 1, 2, 3])),
  'a cut answer': (response) =>
    response.end(JSON.stringify({ keys: [toJwk(two, { kid: 'one' })] }).slice(0, -9)),
  'an answer that breaks off': (response) => {
    response.writeHead(200, { 'content-length': 10_000 }).write('{"keys":[')
    setImmediate(() => response.destroy())
  },
  'too many keys': (response) =>
    response.end(JSON.stringify({ keys: Array.from({ length: 1000 }, () => toJwk(two, { kid: 'one' })) }))
}

for (const [says, answer] of Object.entries(BAD_ANSWERS))
  t.test(`${says} refuses nobody whose key is known, for ten minutes`, async (t) => {
    const passTime = createClock(t)
    const served = await serveKeys(t, toJwk(one, { kid: 'one' }))
    const good = served.answer
    const { ask, said } = await buildKeyApp(t, served)
    t.equal((await ask()).status, 200)

    served.answer = answer
    passTime(MINUTE + 1)
    const failed = said(/key set cannot be fetched/)
    t.equal((await ask()).status, 200)
    await failed
    t.equal((await ask()).status, 200, 'after the bad answer too')
    await requireError(t, await ask(stranger, 'unknown'), 503, 'HTTP_ERR_KEYS_UNAVAILABLE')
    t.equal((await ask(stranger, 'one')).status, 401, 'a forged one is bad in any case')
    passTime(9 * MINUTE)
    t.equal((await ask()).status, 200)

    passTime(2 * MINUTE)
    const refused = await ask()
    t.match(refused.headers.get('retry-after'), /^[1-9]\d*$/)
    await requireError(t, refused, 503, 'HTTP_ERR_KEYS_UNAVAILABLE')

    served.answer = good
    passTime(MINUTE)
    t.equal((await ask()).status, 200, 'and it recovers')
  })

t.test('the time that stale keys serve is configurable', async (t) => {
  const passTime = createClock(t)
  const served = await serveKeys(t, toJwk(one, { kid: 'one' }))
  const { ask } = await buildKeyApp(t, served, { jwksMaxStale: 0 })
  t.equal((await ask()).status, 200)
  served.answer = (response) => response.destroy()
  t.equal((await ask()).status, 200, 'within the first minute nothing is fetched')
  passTime(MINUTE + 1)
  await requireError(t, await ask(), 503, 'HTTP_ERR_KEYS_UNAVAILABLE')
})

t.test('an endless response is read up to its bound', async (t) => {
  const served = await serveKeys(t, toJwk(one, { kid: 'one' }))
  const closed = new EventEmitter()
  let sent = 0
  served.answer = (response) => {
    const chunk = Buffer.alloc(65_536, ' ')
    const write = () => {
      if (response.destroyed) return
      sent += chunk.length
      if (response.write(chunk)) setImmediate(write)
      else response.once('drain', write)
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.once('close', () => closed.emit('close'))
    write()
  }
  const { ask } = await buildKeyApp(t, served)
  const closing = once(closed, 'close')
  await requireError(t, await ask(), 503, 'HTTP_ERR_KEYS_UNAVAILABLE')
  await closing
  // What buffers on the way hold comes on top of the bound.
  t.ok(sent < 32 * 1_048_576, `${sent} bytes`)
})

t.test('redirects are not followed', async (t) => {
  const other = await serveKeys(t, toJwk(one, { kid: 'one' }))
  const served = await serveKeys(t)
  for (const status of [301, 302, 303, 307, 308]) {
    served.answer = (response) => response.writeHead(status, { location: other.url }).end()
    const { ask } = await buildKeyApp(t, served)
    await requireError(t, await ask(), 503, 'HTTP_ERR_KEYS_UNAVAILABLE', `${status}`)
  }
  t.equal(other.fetches, 0)
})

t.test('with the server down from the start: 503, then 200 once it is up', async (t) => {
  const served = await serveKeys(t, toJwk(one, { kid: 'one' }))
  const { answer } = served
  const { ask } = await buildKeyApp(t, served)
  for (const bad of [BAD_ANSWERS['a 500']!, BAD_ANSWERS['an empty set']!]) {
    served.answer = bad
    const refused = await ask()
    t.equal(refused.headers.get('retry-after'), '5')
    t.equal(refused.headers.get('www-authenticate'), null)
    await requireError(t, refused, 503, 'HTTP_ERR_KEYS_UNAVAILABLE')
  }
  served.answer = answer
  t.equal((await ask()).status, 200)
})

t.test('a flood of unknown kids: few fetches, and known keys serve', async (t) => {
  const served = await serveKeys(t, toJwk(one, { kid: 'one' }))
  const { ask } = await buildKeyApp(t, served)
  t.equal((await ask()).status, 200)
  for (let wave = 0; wave < 5; wave++) {
    const floods = Array.from({ length: 40 }, (_, i) => ask(stranger, `kid-${wave}-${i}`))
    const known = Array.from({ length: 10 }, () => ask())
    t.same(new Set(await statusesOf(known)), new Set([200]))
    t.same(new Set(await statusesOf(floods)), new Set([401]))
  }
  t.ok(served.fetches <= 6, `${served.fetches} fetches for 200 unknown kids`)
})

t.test('a new key is fetched once, with its first token', async (t) => {
  const served = await serveKeys(t, toJwk(one, { kid: 'one' }))
  const { ask } = await buildKeyApp(t, served)
  t.equal((await ask()).status, 200)
  served.keys = [toJwk(one, { kid: 'one' }), toJwk(two, { kid: 'two' })]
  const first = Array.from({ length: 10 }, () => ask(two, 'two'))
  t.same(new Set(await statusesOf(first)), new Set([200]))
  t.equal((await ask()).status, 200)
  t.equal(served.fetches, 2)
})

t.test(
  'a key that is taken out of the set serves for its minute, and until the next fetch is done',
  async (t) => {
    const passTime = createClock(t)
    const served = await serveKeys(t, toJwk(one, { kid: 'one' }), toJwk(two, { kid: 'two' }))
    const { ask } = await buildKeyApp(t, served)
    t.equal((await ask()).status, 200)
    served.keys = [toJwk(two, { kid: 'two' })]
    passTime(MINUTE - 5_000)
    t.equal((await ask()).status, 200)
    t.equal(served.fetches, 1)
    passTime(5_000)
    t.equal((await ask(two, 'two')).status, 200)
    t.equal((await ask(stranger, 'unknown')).status, 401, 'it waits for the fetch')
    t.equal((await ask()).status, 401)
    t.equal((await ask(two, 'two')).status, 200)
  }
)
