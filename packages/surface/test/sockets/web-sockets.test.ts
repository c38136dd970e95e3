import { once } from 'node:events'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { FrameRate, FrameSocket, routeUpgrades, WebSockets } from '../../src/sockets/index.ts'

/** An app whose paths are WebSockets that send back what they get, in two pieces. */
async function serve(t: Test, ...paths: string[]): Promise<string> {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  const sockets = new WebSockets({ maxPayload: 1_000 })
  for (const path of paths) {
    app.get(path, async (request, reply) =>
      sockets.isUpgrade(request)
        ? sockets.accept(request, reply, (ws) => {
            const socket = new FrameSocket(ws, 1_000)
            ws.on('message', (data: Buffer) => {
              socket.send(`${path}: `, false)
              socket.send(String(data))
            })
          })
        : reply.code(426).send()
    )
    routeUpgrades(app, path)
  }
  app.addHook('preClose', () => sockets.close())
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  return origin.replace('http', 'ws')
}

t.test('each path has its WebSockets, and the pieces of a frame are one message', async (t) => {
  const origin = await serve(t, '/one', '/two')
  for (const path of ['/one', '/two']) {
    const client = new WebSocket(origin + path)
    await once(client, 'open')
    client.send('hi')
    const [data] = (await once(client, 'message')) as [Buffer]
    t.equal(String(data), `${path}: hi`)
    client.close()
  }
})

t.test('an upgrade of a path that has none is answered', async (t) => {
  const client = new WebSocket(`${await serve(t, '/one', '/two')}/three`)
  const [{ message }] = (await once(client, 'error')) as [Error]
  t.match(message, /404/)
})

t.test('a message that is too large closes the connection', async (t) => {
  const client = new WebSocket(`${await serve(t, '/one')}/one`)
  await once(client, 'open')
  client.send('x'.repeat(1_001))
  const [code] = (await once(client, 'close')) as [number]
  t.equal(code, 1009)
})

t.test('frames are counted by the second', async (t) => {
  const rate = new FrameRate(2)
  t.same(
    [100, 200, 300, 1_000].map((now) => rate.take(now)),
    [true, true, false, true]
  )
})
