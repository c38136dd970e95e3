import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'

const dying = new URL('helpers/dying.ts', import.meta.url).pathname

async function live(file: string, ids: readonly string[]): Promise<{ said: string; signal: unknown }> {
  const args = ['--conditions=@svc/source', dying, `sqlite:${file}`, ...ids]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said, [, signal]] = await Promise.all([text(child.stdout), once(child, 'close')])
  return { said, signal }
}

t.test('a run that kills its process is stopped after 5 deaths, and takes no other with it', async (t) => {
  const file = join(t.testdir(), 'dying.db')
  const first = await live(file, [])
  t.equal(first.signal, 'SIGKILL')
  const ids = first.said.split(' ')
  let deaths = 1
  let last = await live(file, ids)
  for (; last.signal === 'SIGKILL' && deaths < 12; deaths++) last = await live(file, ids)
  t.equal(deaths, 5)
  t.same(JSON.parse(last.said), ['RUN_ERR_POISONED', 'spared', 'accept', 'slow', 'slow'])
})
