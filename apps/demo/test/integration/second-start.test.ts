import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { spawnDemo } from '../helpers/demo-process.ts'

t.test('a second demo on the same port leaves the runs of the first alone', async (t) => {
  const env = { DATA_DIR: t.testdir(), OFFLINE_DELAY: '100' }
  const first = spawnDemo(t, env)
  const base = await first.base()
  const begun = await fetch(`${base}/agents/assistant/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"input":"What can you do?","onDisconnect":"continue"}'
  })
  await begun.body?.cancel()
  const { port } = new URL(base)
  const second = spawnDemo(t, { ...env, PORT: port })
  t.equal(await second.exited, 1)
  t.match(second.said(), new RegExp(`^The demo cannot start: port ${port} is taken.*\n$`))
  const run = await fetch(`${base}/runs/${begun.headers.get('x-run-id')}`)
  t.match(await run.json(), { status: /^(?:working|completed)$/ })
  t.equal(await first.stop(), 0)
})

t.test('a database that cannot be opened is one clear line', async (t) => {
  const DATA_DIR = t.testdir()
  mkdirSync(join(DATA_DIR, 'app.db'))
  const demo = spawnDemo(t, { DATA_DIR })
  t.equal(await demo.exited, 1)
  t.match(demo.said(), /^The demo cannot start: The database cannot be opened.*\n$/)
})
