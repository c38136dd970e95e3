import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createRunEngine, defineRunnable, type RunEngine } from '@svc/registry'
import { createStore } from '@svc/store'
import t from 'tap'

const script = new URL('../helpers/queued-runs.ts', import.meta.url).pathname

/** Lets a process queue three runs and begin the first, kills it, and returns their ids. */
async function queueUntilKilled(url: string): Promise<string[]> {
  const child = spawn(process.execPath, ['--conditions=@svc/source', script, url], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const lines: string[] = []
  const closed = once(child, 'close')
  for await (const line of createInterface({ input: child.stdout }))
    if (lines.push(line) === 4) child.kill('SIGKILL')
  await closed
  t.ok(lines.includes('begun 1'), 'the first run has begun')
  return lines.filter((line) => !line.startsWith('begun'))
}

const statusesOf = (engine: RunEngine, runIds: readonly string[]) =>
  Promise.all(
    runIds.map(async (runId) => {
      const { status, queuePosition, epoch } = (await engine.find(runId))!
      return { status, queuePosition, epoch }
    })
  )

t.test(
  'queued runs wait over a restart of the process, in their order; the one that had begun goes on',
  async (t) => {
    const url = `sqlite:${join(t.testdir(), 'queue.db')}`
    const runIds = await queueUntilKilled(url)
    const store = await createStore({ url })
    const begun: string[] = []
    const flow = defineRunnable({
      kind: 'workflow',
      name: 'flow',
      resumable: true,
      async *stream(input) {
        begun.push(String(input))
        yield { type: 'text', text: 'after it' }
      }
    })
    const engine = createRunEngine({ stores: store, queue: { concurrency: 1 } })
    t.teardown(async () => {
      await engine.close()
      await store.close()
    })
    t.same(await statusesOf(engine, runIds), [
      { status: 'working', queuePosition: null, epoch: 1 },
      { status: 'submitted', queuePosition: 1, epoch: 0 },
      { status: 'submitted', queuePosition: 2, epoch: 0 }
    ])
    t.equal(await engine.recover(), 0, 'none is ended')
    await engine.resume(flow)
    for (const runId of runIds)
      t.match((await Array.fromAsync(engine.parts(runId))).at(-1), { type: 'finish', finishReason: 'stop' })
    t.same(begun.toSorted(), ['1', '2', '3'], 'each once')
    t.ok(begun.indexOf('2') < begun.indexOf('3'))
    t.same(
      (await statusesOf(engine, runIds)).map(({ epoch }) => epoch),
      [2, 1, 1]
    )
  }
)
