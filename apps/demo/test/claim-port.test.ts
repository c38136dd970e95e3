import { connect } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { claimPort } from '../src/claim-port.ts'

t.test('a port is held until it is let go, whoever calls meanwhile', async (t) => {
  const { port, release } = await claimPort('127.0.0.1', 0)
  await t.rejects(claimPort('127.0.0.1', port), { code: 'EADDRINUSE', port })
  await once(connect(port, '127.0.0.1'), 'close')
  await release()
  await (await claimPort('127.0.0.1', port)).release()
})
