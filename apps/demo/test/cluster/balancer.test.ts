import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo, Server as TcpServer } from 'node:net'
import t from 'tap'
import { createBalancer, type Target } from '../../src/cluster/balancer.ts'

type Test = { teardown(what: () => unknown): unknown }

async function listen(t: Test, server: TcpServer): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

/** A node that answers with its name; at `/stream` it writes one line and stays open. */
async function startNode(
  t: Test,
  name: string
): Promise<{ target: Target & { isReady: boolean }; server: Server }> {
  const server = createServer((req, res) => {
    if (req.url === '/stream') res.write(`${name}\n`)
    else res.end(name)
  })
  const port = await listen(t, server)
  t.teardown(() => server.closeAllConnections())
  return { target: { port, isReady: true }, server }
}

async function ask(port: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } })
  return answer.text()
}

t.test('connections go to the ready nodes by turns', async (t) => {
  const [a, b, c] = await Promise.all([startNode(t, 'a'), startNode(t, 'b'), startNode(t, 'c')])
  const port = await listen(
    t,
    createBalancer(() => [a.target, b.target, c.target])
  )
  const answers = []
  for (let i = 0; i < 6; i++) answers.push(await ask(port))
  t.same(answers, ['a', 'b', 'c', 'a', 'b', 'c'])
  b.target.isReady = false
  const later = []
  for (let i = 0; i < 4; i++) later.push(await ask(port))
  t.same(later.toSorted(), ['a', 'a', 'c', 'c'])
})

t.test('a node that refuses the connection is passed over', async (t) => {
  const [a, b] = await Promise.all([startNode(t, 'a'), startNode(t, 'b')])
  const port = await listen(
    t,
    createBalancer(() => [a.target, b.target])
  )
  a.server.close()
  a.server.closeAllConnections()
  await once(a.server, 'close')
  t.same([await ask(port), await ask(port), await ask(port)], ['b', 'b', 'b'])
})

t.test('without a ready node the answer is 503 with Retry-After', async (t) => {
  const { target } = await startNode(t, 'a')
  const port = await listen(
    t,
    createBalancer(() => [{ ...target, isReady: false }])
  )
  const answer = await fetch(`http://127.0.0.1:${port}/`)
  t.equal(answer.status, 503)
  t.equal(answer.headers.get('retry-after'), '1')
  t.match(await answer.json(), { error: { code: 'DEMO_ERR_NO_NODE', retryable: true } })
})

t.test('a stream ends with its node, and a node learns that its client has left', async (t) => {
  const { target, server } = await startNode(t, 'a')
  const port = await listen(
    t,
    createBalancer(() => [target])
  )
  const open = () => {
    const asked = request({ port, host: '127.0.0.1', path: '/stream' })
    asked.on('error', () => {})
    asked.end()
    return asked
  }
  const first = open()
  const [[incoming], [served]] = (await Promise.all([
    once(first, 'response'),
    once(server, 'connection')
  ])) as [[NodeJS.ReadableStream], [NodeJS.EventEmitter]]
  const left = once(served, 'close')
  incoming.on('error', () => {})
  first.destroy()
  await left
  const [stream] = (await once(open(), 'response')) as [NodeJS.ReadableStream]
  await once(stream, 'data')
  const cut = new Promise((resolve) => stream.once('error', resolve).once('close', resolve))
  server.closeAllConnections()
  await cut
  t.pass('both ends are closed')
})
