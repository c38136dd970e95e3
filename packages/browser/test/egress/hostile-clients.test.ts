import { once } from 'node:events'
import t from 'tap'
import { dial, openProxy, readUntil, serveRaw, talk } from '../helpers/egress.ts'

const HELLO = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'

t.test('close ends 1,000 connections, and leaves nothing', async (t) => {
  const origin = await serveRaw(t)
  const host = `shop.example:${origin.port}`
  const before = activeHandles()
  let resolved = 0
  const proxy = await openProxy(t, {
    privateHosts: [host],
    // Half of the names are still being resolved when it closes.
    lookup: (_name, options, done) =>
      resolved++ % 2 === 0
        ? setImmediate(() => done(null, [{ address: '127.0.0.1', family: 4 }]))
        : void options
  })
  const clients = await Promise.all(Array.from({ length: 1_000 }, () => dial(t, proxy.port)))
  for (const [index, client] of clients.entries()) {
    const way = [
      `CONNECT ${host} HTTP/1.1\r\nHost: a\r\n${proxy.credentials}\r\n`,
      `GET http://${host}/ HTTP/1.1\r\nHost: a\r\n${proxy.credentials}\r\n`,
      'GET http://half',
      ''
    ][index % 4]!
    client.write(way)
  }
  while (origin.sockets.size === 0) await new Promise(setImmediate)
  const left = clients.filter((client) => !client.destroyed)
  const ended = Promise.all(
    left.map((client) => new Promise((resolve) => client.resume().once('close', resolve)))
  )
  await Promise.all([proxy.close(), proxy.close()])
  await ended
  await t.rejects(talk(t, proxy.port, ''), { code: 'ECONNREFUSED' })
  while (origin.sockets.size > 0) await new Promise(setImmediate)
  // The system reports a closed handle some turns later.
  while (activeHandles() !== before) await new Promise(setImmediate)
  t.match(await proxy.close(), undefined)
})

t.test('a malformed request is a 400 and reaches nothing', async (t) => {
  const origin = await serveRaw(t, (socket) => socket.end(HELLO))
  const host = `shop.example:${origin.port}`
  const proxy = await openProxy(t, { privateHosts: [host] })
  const own = `Host: ${host}\r\n${proxy.credentials}`
  const targets = [
    'GET / HTTP/1.1',
    'OPTIONS * HTTP/1.1',
    `GET //${host}/ HTTP/1.1`,
    `GET http:/${host}/ HTTP/1.1`,
    `GET http:\\\\${host}/ HTTP/1.1`,
    'GET http:/// HTTP/1.1',
    'GET http://[::1/ HTTP/1.1',
    'GET http://shop.example:0/ HTTP/1.1',
    'GET http://shop.example:65536/ HTTP/1.1',
    'GET http://shop..example/ HTTP/1.1',
    `GET https://${host}/ HTTP/1.1`,
    `GET ftp://${host}/ HTTP/1.1`,
    'GET file:///etc/passwd HTTP/1.1',
    `GET ws://${host}/ HTTP/1.1`,
    'CONNECT shop.example HTTP/1.1',
    'CONNECT shop.example: HTTP/1.1',
    'CONNECT shop.example:0 HTTP/1.1',
    'CONNECT shop.example:65536 HTTP/1.1',
    'CONNECT :443 HTTP/1.1',
    `CONNECT user@${host} HTTP/1.1`,
    `CONNECT http://${host}/ HTTP/1.1`,
    'CONNECT shop.example/a:443 HTTP/1.1',
    'CONNECT *:443 HTTP/1.1'
  ]
  for (const line of targets)
    t.match(await talk(t, proxy.port, `${line}\r\n${own}Connection: close\r\n\r\n`), /^HTTP\/1.1 400 /, line)
  const raw = [
    `GET http://${host}/ HTTP/9.9\r\n${own}\r\n`,
    `GET http://${host}/ HTTP/1.1\n${own}\n`,
    `GET http://${host}/ HTTP/1.1\r\n${proxy.credentials}\r\n`,
    `GET http://${host}/ HTTP/1.1\r\n${own}Bad Header: 1\r\n\r\n`,
    `GET http://${host}/ HTTP/1.1\r\n${own}X: a\0b\r\n\r\n`,
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    '\x05\x01\x00',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
  ]
  for (const text of raw)
    t.match(await talk(t, proxy.port, text), /^HTTP\/1.1 (?:400|505) /, JSON.stringify(text))
  t.same(origin.received, [])
})

t.test('a request whose length is ambiguous is a 400', async (t) => {
  const origin = await serveRaw(t, (socket) => socket.end(HELLO))
  const host = `shop.example:${origin.port}`
  const proxy = await openProxy(t, { privateHosts: [host] })
  const smuggled = `0\r\n\r\nGET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n`
  const framings = [
    'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n',
    'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n',
    'Content-Length: 4\r\nContent-Length: 5\r\n',
    'Content-Length: 4, 4\r\n',
    'Content-Length: +4\r\n',
    'Transfer-Encoding: chunked, identity\r\n',
    'Transfer-Encoding : chunked\r\n',
    'Transfer-Encoding: xchunked\r\n'
  ]
  for (const framing of framings) {
    const head = `POST http://${host}/ HTTP/1.1\r\nHost: a\r\n${proxy.credentials}${framing}\r\n`
    t.match(await talk(t, proxy.port, head + smuggled), /^HTTP\/1.1 400 /, framing)
  }
  for (const text of origin.received) t.notMatch(text, /evil|HTTP\/1.1[^]*HTTP\/1.1/)
})

t.test('requests on one connection are judged one by one', async (t) => {
  const origin = await serveRaw(t, (socket) => socket.end(HELLO))
  const host = `shop.example:${origin.port}`
  const proxy = await openProxy(t, { privateHosts: [host] })
  const requestFor = (target: string) =>
    `GET http://${target}/ HTTP/1.1\r\nHost: ${host}\r\n${proxy.credentials}\r\n`
  const without = `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
  const answer = await talk(
    t,
    proxy.port,
    requestFor(host) +
      requestFor('evil.example') +
      requestFor(`127.0.0.1:${origin.port}`) +
      requestFor(host) +
      without
  )
  t.same(answer.match(/HTTP\/1.1 \d+/g), [
    'HTTP/1.1 200',
    'HTTP/1.1 403',
    'HTTP/1.1 403',
    'HTTP/1.1 200',
    'HTTP/1.1 407'
  ])
  t.equal(origin.received.length, 2)
  t.same(
    proxy.blocked.map(({ reason }) => reason),
    ['host', 'address']
  )
})

t.test('the request line counts: not the Host header, nor what is before an @', async (t) => {
  const origin = await serveRaw(t, (socket) => socket.end(HELLO))
  const host = `shop.example:${origin.port}`
  const proxy = await openProxy(t, { privateHosts: [host] })
  const send = (target: string) =>
    talk(
      t,
      proxy.port,
      `GET http://${target}/ HTTP/1.1\r\nHost: evil.example\r\n${proxy.credentials}Connection: close\r\n\r\n`
    )
  t.match(await send(`user:secret@${host}`), /^HTTP\/1.1 200 /)
  t.equal(origin.received[0], `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  t.match(await send(`${host}@evil.example`), /^HTTP\/1.1 403 /)
  t.match(await send(`${host}#@evil.example`), /^HTTP\/1.1 (?:200|400) /)
  t.match(await send(`evil.example\\@${host}`), /^HTTP\/1.1 400 /)
  t.match(await send(`evil.example%2f@${host}`), /^HTTP\/1.1 200 /)
  for (const text of origin.received) t.match(text, new RegExp(`\r\nHost: ${host}\r\n`))
})

t.test('headers of any size are bounded, and those of the browser fit', async (t) => {
  const origin = await serveRaw(t, (socket) => socket.end(HELLO))
  const host = `shop.example:${origin.port}`
  const proxy = await openProxy(t, { privateHosts: [host] })
  const request = (size: number) =>
    `GET http://${host}/ HTTP/1.1\r\nHost: a\r\n${proxy.credentials}Cookie: ${'c'.repeat(size)}\r\nConnection: close\r\n\r\n`
  t.match(await talk(t, proxy.port, request(60_000)), /^HTTP\/1.1 200 /)
  t.match(await talk(t, proxy.port, request(70_000)), /^HTTP\/1.1 431 /)
  t.equal(origin.received.length, 1)
})

t.test('only WebSocket is switched to', async (t) => {
  const origin = await serveRaw(t)
  const host = `shop.example:${origin.port}`
  const proxy = await openProxy(t, { privateHosts: [host] })
  for (const [method, protocol] of [
    ['GET', 'h2c'],
    ['GET', 'TLS/1.0'],
    ['GET', 'connect-udp'],
    ['GET', 'websocket, h2c'],
    ['POST', 'websocket']
  ]) {
    const request = `${method} http://${host}/ HTTP/1.1\r\nHost: a\r\n${proxy.credentials}Upgrade: ${protocol}\r\nConnection: Upgrade\r\n\r\n`
    t.match(await talk(t, proxy.port, request), /^HTTP\/1.1 400 /, `${method} ${protocol}`)
  }
  t.same(origin.received, [])
  t.same(new Set(proxy.blocked.map(({ reason }) => reason)), new Set(['malformed']))
})

t.test('a client that leaves takes its connection with it', async (t) => {
  const origin = await serveRaw(t)
  const host = `shop.example:${origin.port}`
  const proxy = await openProxy(t, { privateHosts: [host] })
  const ways = [
    `GET http://${host}/ HTTP/1.1\r\nHost: a\r\n${proxy.credentials}\r\n`,
    `POST http://${host}/ HTTP/1.1\r\nHost: a\r\n${proxy.credentials}Content-Length: 9\r\n\r\nhalf`,
    `CONNECT ${host} HTTP/1.1\r\nHost: a\r\n${proxy.credentials}\r\n`,
    `GET http://${host}/ HTTP/1.1\r\nHost: a\r\n${proxy.credentials}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`
  ]
  for (const way of ways) {
    const arrival = once(origin.server, 'connection')
    const client = await dial(t, proxy.port)
    client.write(way)
    const [upstream] = await arrival
    const gone = once(upstream, 'close')
    client.resetAndDestroy()
    await gone
  }
  t.equal(origin.sockets.size, 0)
})

t.test('too many bytes end every connection, and no other opens', async (t) => {
  const endless = await serveRaw(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n')
    const pour = () => socket.writable && socket.write(Buffer.alloc(65_536), pour)
    pour()
  })
  const quiet = await serveRaw(t)
  const hosts = [`shop.example:${endless.port}`, `quiet.example:${quiet.port}`]
  const ways = {
    download: `GET http://${hosts[0]}/ HTTP/1.1\r\nHost: a\r\n`,
    tunnel: `CONNECT ${hosts[0]} HTTP/1.1\r\nHost: a\r\n`,
    upload: `POST http://${hosts[1]}/ HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n`
  }
  for (const [name, way] of Object.entries(ways)) {
    const proxy = await openProxy(t, { privateHosts: hosts, maxBytes: 1_000_000 })
    const tunnel = await dial(t, proxy.port)
    tunnel.write(`CONNECT ${hosts[1]} HTTP/1.1\r\nHost: a\r\n${proxy.credentials}\r\n`)
    await readUntil(tunnel, '\r\n\r\n')
    const tunnelEnd = readUntil(tunnel)

    t.equal(proxy.error, undefined)
    const client = await dial(t, proxy.port)
    client.write(`${way}${proxy.credentials}\r\n${name === 'tunnel' ? 'go' : ''}`)
    if (name === 'upload') client.write(Buffer.alloc(2_000_000))
    await readUntil(client)
    await tunnelEnd
    t.match(proxy.error, { code: 'RUN_ERR_BROWSER_TOO_LARGE', statusCode: 413 }, name)
    t.ok(proxy.bytes > 1_000_000 && proxy.bytes < 2_100_000, `${name}: ${proxy.bytes}`)
    t.match(proxy.blocked, [{ host: hosts[name === 'upload' ? 1 : 0], reason: 'bytes' }], name)
    const next = `GET http://${hosts[1]}/ HTTP/1.1\r\nHost: a\r\n${proxy.credentials}Connection: close\r\n\r\n`
    t.match(await talk(t, proxy.port, next), /^HTTP\/1.1 403 [^]*too many bytes/, name)
  }
})

t.test('the connections that one client opens by pipelining are bounded', async (t) => {
  const origin = await serveRaw(t)
  const host = `shop.example:${origin.port}`
  const proxy = await openProxy(t, { privateHosts: [host] })
  const client = await dial(t, proxy.port)
  let arrivals = 0
  const full = new Promise<void>((resolve) =>
    origin.server.on('connection', () => ++arrivals === 256 && resolve())
  )
  client.write(`GET http://${host}/ HTTP/1.1\r\nHost: a\r\n${proxy.credentials}\r\n`.repeat(300))
  await full
  while (proxy.blocked.length < 44) await new Promise(setImmediate)
  t.same(
    proxy.blocked,
    Array.from({ length: 44 }, () => ({ host, reason: 'connections' }))
  )
  t.equal(origin.sockets.size, 256)
})

/** What keeps this process alive, besides what it began with. */
function activeHandles(): string {
  return process.getActiveResourcesInfo().toSorted().join(' ')
}
