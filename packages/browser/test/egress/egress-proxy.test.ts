import { once } from 'node:events'
import t from 'tap'
import { dial, openProxy, readUntil, resolver, serveRaw, talk } from '../helpers/egress.ts'

const HELLO = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'

t.test('a request goes on with its own headers only, and its response comes back', async (t) => {
  const origin = await serveRaw(t, (socket) =>
    socket.end(
      'HTTP/1.1 201 Made\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nKeep-Alive: timeout=5\r\nX-Own: 1\r\n' +
        'Connection: x-hop\r\nX-Hop: 1\r\nContent-Length: 5\r\n\r\nhello'
    )
  )
  const proxy = await openProxy(t, { privateHosts: [`shop.example:${origin.port}`] })
  const answer = await talk(
    t,
    proxy.port,
    `GET http://shop.example:${origin.port}/a?b=%20 HTTP/1.1\r\nHost: shop.example\r\n${proxy.credentials}` +
      'Accept: text/html\r\nAccept: */*\r\nProxy-Connection: keep-alive\r\nConnection: x-mine, close\r\nX-Mine: 1\r\nTE: trailers\r\n\r\n'
  )
  t.match(answer, /^HTTP\/1.1 201 Made\r\n/)
  t.match(answer, /Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Own: 1\r\n/)
  t.notMatch(answer, /x-hop|timeout=5|\r\nDate/i)
  t.match(answer, /hello$/)
  t.equal(
    origin.received[0],
    `GET /a?b=%20 HTTP/1.1\r\nHost: shop.example:${origin.port}\r\nAccept: text/html\r\nAccept: */*\r\nConnection: close\r\n\r\n`
  )
  t.same(proxy.blocked, [])
})

t.test('a body goes on as it was framed, whatever the method', async (t) => {
  const origin = await serveRaw(t, (socket, text) => {
    if (/(?:\r\n\r\nhello|\r\n0\r\n\r\n)$/.test(text)) socket.end(HELLO)
  })
  const proxy = await openProxy(t, { privateHosts: [`shop.example:${origin.port}`] })
  for (const method of ['POST', 'DELETE', 'GET']) {
    const head = `${method} http://shop.example:${origin.port}/ HTTP/1.1\r\nHost: a\r\n${proxy.credentials}`
    await talk(t, proxy.port, `${head}Content-Length: 5\r\nConnection: content-length\r\n\r\nhello`, 'hello')
    t.match(origin.received.at(-1), /\r\nContent-Length: 5\r\n[^]*\r\n\r\nhello$/, method)
    await talk(t, proxy.port, `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`, 'hello')
    t.match(
      origin.received.at(-1),
      /\r\nTransfer-Encoding: chunked\r\n[^]*\r\n5\r\nhello\r\n0\r\n\r\n$/,
      method
    )
  }
})

t.test('a tunnel carries bytes both ways, and each direction ends by itself', async (t) => {
  const origin = await serveRaw(t, (socket, text) => {
    if (text === 'ping') socket.write('pong')
  })
  const proxy = await openProxy(t, { privateHosts: [`shop.example:${origin.port}`] })
  const client = await dial(t, proxy.port)
  // The first bytes may come with the request.
  client.write(`CONNECT shop.example:${origin.port} HTTP/1.1\r\nHost: a\r\n${proxy.credentials}\r\nping`)
  t.equal(await readUntil(client, 'pong'), 'HTTP/1.1 200 Connection Established\r\n\r\npong')
  const [upstream] = origin.sockets
  const ended = once(upstream!, 'end')
  client.end()
  await ended
  t.equal(proxy.bytes, 8)
})

t.test('a WebSocket opens in absolute form and by a tunnel', async (t) => {
  const origin = await serveRaw(t, (socket, text) => {
    if (text.endsWith('\r\n\r\n'))
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
    else socket.end(`echo ${text.split('\r\n\r\n')[1]}`)
  })
  const host = `shop.example:${origin.port}`
  const proxy = await openProxy(t, { privateHosts: [host] })
  const handshake = 'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\n'

  const client = await dial(t, proxy.port)
  client.write(`GET http://${host}/ws HTTP/1.1\r\nHost: evil.example\r\n${proxy.credentials}${handshake}\r\n`)
  t.match(await readUntil(client, '\r\n\r\n'), /^HTTP\/1.1 101 /)
  client.write('frame')
  t.equal(await readUntil(client), 'echo frame')
  t.match(
    origin.received[0],
    new RegExp(
      `^GET /ws HTTP/1.1\\r\\nHost: ${host}\\r\\nSec-WebSocket-Key: x\\r\\nConnection: Upgrade\\r\\n`
    )
  )
  t.notMatch(origin.received[0], /proxy-|evil/i)

  const tunnel = await dial(t, proxy.port)
  tunnel.write(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n${proxy.credentials}\r\n`)
  await readUntil(tunnel, '\r\n\r\n')
  tunnel.write(`GET /ws HTTP/1.1\r\nHost: ${host}\r\n${handshake}\r\n`)
  t.match(await readUntil(tunnel, '\r\n\r\n'), /^HTTP\/1.1 101 /)
  tunnel.write('frame')
  t.equal(await readUntil(tunnel), 'echo frame')
})

t.test('without the credentials of the desk nothing is reached', async (t) => {
  const origin = await serveRaw(t, (socket) => socket.end(HELLO))
  const host = `shop.example:${origin.port}`
  const proxy = await openProxy(t, { privateHosts: [host] })
  const other = await openProxy(t, { privateHosts: [host] })
  const wrong = [
    '',
    other.credentials,
    'Proxy-Authorization: Basic\r\n',
    proxy.credentials.replace('Basic', 'Bearer')
  ]
  for (const credentials of wrong) {
    const ways = [
      `GET http://${host}/ HTTP/1.1\r\nHost: a\r\n${credentials}Connection: close\r\n\r\n`,
      `CONNECT ${host} HTTP/1.1\r\nHost: a\r\n${credentials}\r\n`,
      `GET http://${host}/ HTTP/1.1\r\nHost: a\r\n${credentials}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`
    ]
    for (const way of ways) {
      const answer = await talk(t, proxy.port, way)
      t.match(answer, /^HTTP\/1.1 407 Proxy Authentication Required\r\n/)
      t.match(answer, /proxy-authenticate: Basic realm=/i)
    }
  }
  t.same(origin.received, [])
})

t.test('a host is refused by name, port or address, on every way, before a connection', async (t) => {
  const origin = await serveRaw(t, (socket) => socket.end(HELLO))
  const { port } = origin
  const proxy = await openProxy(t, {
    allow: ['shop.example', `shop.example:${port}`, '*.cdn.example'],
    privateHosts: ['localhost:1']
  })
  const cases = [
    [`evil.example:${port}`, 'host'],
    ['evil.example:443', 'host', 'evil.example'],
    ['shop.example:8081', 'port'],
    // Allowed by name, but the name has a private address.
    [`shop.example:${port}`, 'address'],
    ['a.cdn.example:80', 'address', 'a.cdn.example'],
    [`127.0.0.1:${port}`, 'address'],
    [`[::1]:${port}`, 'address'],
    [`[::ffff:7f00:1]:${port}`, 'address'],
    [`localhost:${port}`, 'address'],
    [`0.0.0.0:${port}`, 'address'],
    [`169.254.169.254:80`, 'address', '169.254.169.254']
  ] as const
  for (const [host, reason, reported = host] of cases) {
    const ways = [
      `GET http://${host}/ HTTP/1.1\r\nHost: shop.example\r\n${proxy.credentials}Connection: close\r\n\r\n`,
      `CONNECT ${host} HTTP/1.1\r\nHost: shop.example\r\n${proxy.credentials}\r\n`,
      `GET http://${host}/ HTTP/1.1\r\nHost: a\r\n${proxy.credentials}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`
    ]
    for (const way of ways) {
      t.match(await talk(t, proxy.port, way), /^HTTP\/1.1 403 Forbidden\r\n[^]*\r\n\r\nThis .*\.\n$/, way)
      t.same(proxy.blocked.splice(0), [{ host: reported, reason }])
    }
  }
  t.same(origin.received, [])
  t.equal(proxy.bytes, 0)
})

t.test("one private address among a name's refuses the name", async (t) => {
  const lookup = resolver(['3ffe::1', '127.0.0.1'], ['10.0.0.1', '3ffe::1'], [])
  const proxy = await openProxy(t, { allow: 'public', lookup })
  for (const reason of ['address', 'address', 'address']) {
    await talk(t, proxy.port, `CONNECT shop.example:443 HTTP/1.1\r\nHost: a\r\n${proxy.credentials}\r\n`)
    t.same(proxy.blocked.splice(0), [{ host: 'shop.example', reason }])
  }
})

t.test('a name is resolved once for a connection, and again for the next', async (t) => {
  const origin = await serveRaw(t)
  // Of a range that IANA has taken back: public in form, and leads nowhere.
  const lookup = resolver('3ffe::1', '127.0.0.1')
  const proxy = await openProxy(t, { allow: [`rebind.example:${origin.port}`], lookup })
  const request = `GET http://rebind.example:${origin.port}/ HTTP/1.1\r\nHost: a\r\n${proxy.credentials}Connection: close\r\n\r\n`
  const first = await dial(t, proxy.port)
  first.write(request)
  // The second request is sent once the first has its address.
  while (lookup.names.length === 0) await new Promise(setImmediate)
  t.match(await talk(t, proxy.port, request), /^HTTP\/1.1 403 /)
  t.same(lookup.names, ['rebind.example', 'rebind.example'])
  t.same(proxy.blocked, [{ host: `rebind.example:${origin.port}`, reason: 'address' }])
  t.same(origin.received, [])
})

t.test('hosts that do not answer, or not in HTTP, are a 502', async (t) => {
  const { port: closed, server } = await serveRaw(t)
  server.close()
  await once(server, 'close')
  const garbage = await serveRaw(t, (socket) => socket.end('SSH-2.0-OpenSSH\r\n'))
  const silent = await serveRaw(t, (socket) => socket.destroy())
  const switching = await serveRaw(t, (socket) =>
    socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n')
  )
  const large = await serveRaw(t, (socket) =>
    socket.end(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`)
  )
  const ports = [closed, garbage.port, silent.port, switching.port, large.port]
  const proxy = await openProxy(t, { privateHosts: ports.map((port) => `shop.example:${port}`) })
  for (const port of ports) {
    const request = `GET http://shop.example:${port}/ HTTP/1.1\r\nHost: a\r\n${proxy.credentials}Connection: close\r\n\r\n`
    t.match(await talk(t, proxy.port, request), /^HTTP\/1.1 502 Bad Gateway\r\n/, String(port))
  }
  const tunnel = `CONNECT shop.example:${closed} HTTP/1.1\r\nHost: a\r\n${proxy.credentials}\r\n`
  t.match(await talk(t, proxy.port, tunnel), /^HTTP\/1.1 502 Bad Gateway\r\n[^]*ECONNREFUSED/)
})

t.test('a response that breaks off is not a complete one', async (t) => {
  const origin = await serveRaw(t, (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello')
  )
  const chunked = await serveRaw(t, (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n')
  )
  const ports = [origin.port, chunked.port]
  const proxy = await openProxy(t, { privateHosts: ports.map((port) => `shop.example:${port}`) })
  for (const port of ports) {
    const answer = await talk(
      t,
      proxy.port,
      `GET http://shop.example:${port}/ HTTP/1.1\r\nHost: a\r\n${proxy.credentials}\r\n`
    )
    t.match(answer, /hello/)
    t.notMatch(answer, /\r\n0\r\n\r\n$/)
  }
})
