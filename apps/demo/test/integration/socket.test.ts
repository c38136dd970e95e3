import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { spawnDemo } from '../helpers/demo-process.ts'

const example = fileURLToPath(new URL('../../examples/socket.ts', import.meta.url))

t.test('the example client runs against the demo, on the port of its HTTP', async (t) => {
  const demo = spawnDemo(t, { DATA_DIR: t.testdir(), OFFLINE_DELAY: '5', LOG_LEVEL: 'silent' })
  const { origin } = new URL(await demo.base())
  const args = ['--conditions=@svc/source', example, origin]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000 })
  t.match(stdout, /\[search_docs\]/)
  t.match(stdout, /\[the connection is lost\]/)
  t.match(stdout, /84/)
  t.match(stdout, /\[run \S+ is done\]/)
  const document = await fetch(`${origin}/api/docs/asyncapi.json`)
  t.match(await document.json(), { asyncapi: '3.0.0' })
  t.equal(await demo.stop(), 0)
})
