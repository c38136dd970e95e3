import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { start, untilSaid } from '../helpers/shell.ts'
import { build } from '../helpers/tarballs.ts'

const ROOT = join(import.meta.dirname, '../..')
const OLDEST = [
  join(ROOT, 'node_modules/node-oldest/bin/node'),
  '--experimental-strip-types',
  '--no-warnings'
]

const read = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Record<string, never>

t.setTimeout(300_000)

t.test('every package requires the same minimum Node, which is tested here', async (t) => {
  const { version } = read('node_modules/node-oldest/package.json')
  const [major, minor] = String(version).split('.')
  for (const path of globSync(['packages/*/package.json', 'apps/*/package.json'], { cwd: ROOT }))
    t.equal(read(path)['engines']?.['node'], `>=${major}.${minor}`, path)
})

t.test('the store passes its contract on it', async (t) => {
  const suite = 'packages/store/test/contracts.test.ts'
  const running = start(t, [...OLDEST, '--conditions=@svc/source', suite], { cwd: ROOT, limit: 130_000 })
  t.equal(await running.ended, 0)
  t.notMatch(running.output.stdout, /^ *not ok/m)
})

t.test('a service with all packages runs on it, and resumes after a restart', async (t) => {
  const env = { DATA_DIR: t.testdir(), PORT: '0' }
  // The packages as published: a sandbox does not strip types.
  await build()
  const serve = async () => {
    const running = start(t, [...OLDEST, 'apps/demo/src/main.ts'], { cwd: ROOT, env })
    const said = await untilSaid(running, 'Stop with')
    const [, base = ''] = /base\s+(http:\S+)/.exec(said) ?? []
    const ask = async (path: string, body?: object, headers = {}) => {
      const json = { 'content-type': 'application/json', ...headers }
      const response = await fetch(base + path, {
        ...(body && { method: 'POST', headers: json, body: JSON.stringify(body) })
      })
      return (await response.json()) as Record<string, never>
    }
    return { running, ask }
  }
  const first = await serve()
  t.match(await first.ask('/readyz'), { status: 'ok' })
  const question = { input: 'What is 12 * (3+4)?', sessionId: 's' }
  t.match(await first.ask('/agents/assistant/run', question), { text: /84/ })
  const program = { input: '```js\nreturn [3, 1, 2].sort()\n```' }
  t.match(
    await first.ask('/agents/analyst/run', program),
    { text: /\[\s*1,\s*2,\s*3\s*\]/ },
    'in the sandbox'
  )
  const message = { role: 'user', parts: [{ kind: 'text', text: 'What is A2A?' }] }
  const call = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }
  t.match(await first.ask('/../a2a', call), { result: { status: { state: 'completed' } } })
  const { runId } = await first.ask(
    '/workflows/memo/run',
    { input: 'What is a run?' },
    { prefer: 'respond-async' }
  )
  first.running.child.kill('SIGKILL')
  await first.running.ended

  const second = await serve()
  const until = async (status: string) => {
    while (String((await second.ask(`/runs/${runId}`))['status']) !== status)
      await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await until('input-required')
  await second.ask(`/approvals/${runId}.1`, { approved: true })
  await until('completed')
  second.running.child.kill('SIGTERM')
  t.equal(await second.running.ended, 0)
})
