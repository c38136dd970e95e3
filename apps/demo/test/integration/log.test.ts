import t from 'tap'
import { spawnDemo } from '../helpers/demo-process.ts'

t.setTimeout(120_000)

t.test('what a client puts into a URL, a key by mistake, is not in the log at any level', async (t) => {
  const demo = spawnDemo(t, { DATA_DIR: t.testdir(), LOG_LEVEL: 'trace' })
  const { origin } = new URL(await demo.base())
  const secret = 'sk-a-key-in-the-wrong-place'
  for (const path of ['/api/registry', '/api/nothing', '/a2a/tasks', '/.well-known/agent-card.json', '/'])
    await (await fetch(`${origin}${path}?apiKey=${secret}&token=${secret}`)).text()
  await (await fetch(`${origin}/a2a/${secret}`, { method: 'POST', body: '{' })).text()
  await (await fetch(`${origin}/api/agents/${secret}/run`, { method: 'POST' })).text()
  t.equal(await demo.stop(), 0)
  t.match(demo.said(), /"route":"\/api\/registry"/)
  t.notMatch(demo.said(), secret)
})
