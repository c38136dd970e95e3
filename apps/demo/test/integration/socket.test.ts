import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { SHELL, spawnDemo, type DemoProcess } from '../helpers/demo-process.ts'

const example = fileURLToPath(new URL('../../examples/socket.ts', import.meta.url))

// It starts processes, on a machine that may be busy.
t.setTimeout(120_000)

/** Runs the example against an address, with this in its environment. */
function runExampleAt(origin: string, env: Record<string, string> = {}) {
  const args = ['--conditions=@svc/source', example, origin]
  const options = { timeout: 40_000, env: { ...SHELL, ...env } }
  return promisify(execFile)(process.execPath, args, options)
}

/** The same as the demo says; gives what it printed. */
async function runExample(demo: DemoProcess, env: Record<string, string> = {}): Promise<string> {
  await demo.base()
  const [, origin = ''] = /npm run -s example:socket -- (\S+)/.exec(demo.said()) ?? []
  return (await runExampleAt(origin, env)).stdout
}

/** An address where nobody listens. */
async function findNobody(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return `http://127.0.0.1:${port}`
}

t.test('where no service is, it says so in one line, and what to start', async (t) => {
  const origin = await findNobody()
  await t.rejects(runExampleAt(origin), {
    code: 1,
    stdout: '',
    stderr: `${origin}: no service is there; start one with "npm run demo"\n`
  })
})

t.test('the example client runs against the demo, on the port of its HTTP', async (t) => {
  const demo = spawnDemo(t, { DATA_DIR: t.testdir(), OFFLINE_DELAY: '5', LOG_LEVEL: 'silent' })
  const { origin } = new URL(await demo.base())
  const stdout = await runExample(demo)
  t.match(stdout, /\[search_docs\]/)
  t.match(stdout, /\[the connection is lost\]/)
  t.match(stdout, /84/)
  t.match(stdout, /\[run \S+ is done\]/)
  const document = await fetch(`${origin}/api/docs/asyncapi.json`)
  t.match(await document.json(), { asyncapi: '3.0.0' })
  t.equal(await demo.stop(), 0)
})

t.test('with DEMO_AUTH=1 it needs a token, and one that may run', async (t) => {
  const demo = spawnDemo(t, { DATA_DIR: t.testdir(), DEMO_AUTH: '1', LOG_LEVEL: 'silent' })
  await t.rejects(runExample(demo), { message: /A token is required/ })
  const tokenOf = (role: string) => new RegExp(`${role}_TOKEN=(\\S+)`).exec(demo.said())![1]!
  await t.rejects(runExample(demo, { USER_TOKEN: tokenOf('READER') }), {
    message: /"agents:run" is required/
  })
  t.match(await runExample(demo, { USER_TOKEN: tokenOf('USER') }), /\[run \S+ is done\]/)
  t.equal(await demo.stop(), 0)
})
