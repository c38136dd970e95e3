import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createRunEngine, defineRunnable } from '@svc/registry'
import { createStore } from '@svc/store'
import t from 'tap'

const script = new URL('../helpers/scheduled-run.ts', import.meta.url).pathname

/** Lets a process fire a schedule, kills it before the run begins, and returns the ids of both. */
async function fireUntilKilled(url: string): Promise<string[]> {
  const child = spawn(process.execPath, ['--conditions=@svc/source', script, url], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const closed = once(child, 'close')
  let ids: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    t.not(line, 'begun scheduled')
    if (line.startsWith('begun')) continue
    ids = line.split(' ')
    child.kill('SIGKILL')
  }
  await closed
  return ids
}

t.test('a kill between firing and the beginning of the run loses nothing and repeats nothing', async (t) => {
  const url = `sqlite:${join(t.testdir(), 'schedules.db')}`
  const [scheduleId = '', runId = ''] = await fireUntilKilled(url)
  const stores = await createStore({ url })
  const begun: unknown[] = []
  const flow = defineRunnable({
    kind: 'workflow',
    name: 'flow',
    resumable: true,
    async *stream(input) {
      begun.push(input)
      yield { type: 'text', text: 'after it' }
    }
  })
  const engine = createRunEngine({ stores, queue: { concurrency: 1 } })
  t.teardown(async () => {
    await engine.close()
    await stores.close()
  })
  await engine.resume(flow)
  await engine.recover()
  t.match((await Array.fromAsync(engine.parts(runId))).at(-1), { type: 'finish', finishReason: 'stop' })
  t.same(begun.filter((input) => input === 'scheduled').length, 1)
  t.equal((await engine.list({ limit: 9 })).runs.length, 2)
  t.match(await engine.schedules.get(scheduleId), { lastRunId: runId, nextAt: undefined })
})
