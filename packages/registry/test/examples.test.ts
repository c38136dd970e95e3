import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import t from 'tap'

const example = new URL('../examples/engine.ts', import.meta.url)

t.test('the example prints the expected output', async (t) => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--conditions=@svc/source',
    example.pathname
  ])
  const lines = stdout.trim().split('\n')
  t.match(JSON.parse(lines[0] ?? ''), { seq: 1, type: 'start', sessionId: 'first' })
  t.equal(lines.at(-1)?.trim(), 'one run, every wire')
})

t.test('the README contains the example unchanged', async (t) => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  t.ok(readme.includes(await readFile(example, 'utf8')))
})
