import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import t from 'tap'
import { claimPort } from '../src/claim-port.ts'

t.test('a port is held until it is let go, whoever calls meanwhile', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await t.rejects(claimPort('127.0.0.1', port), { code: 'EADDRINUSE', port })
  server.close()
  await once(server, 'close')

  const { release } = await claimPort('127.0.0.1', port)
  await t.rejects(claimPort('127.0.0.1', port), { code: 'EADDRINUSE' })
  await once(connect(port, '127.0.0.1'), 'close')
  await release()
  const again = await claimPort('127.0.0.1', port)
  await again.release()
})

t.test('with 0 it is a free one', async (t) => {
  const { port, release } = await claimPort('127.0.0.1', 0)
  t.ok(port > 0)
  await t.rejects(claimPort('127.0.0.1', port), { code: 'EADDRINUSE' })
  await release()
})
