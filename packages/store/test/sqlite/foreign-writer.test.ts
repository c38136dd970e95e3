import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text as textOf } from 'node:stream/consumers'
import { createRunEngine } from '@svc/registry'
import { createSseStream } from '@svc/surface'
import { scriptedRunnable } from '@svc/testing'
import { createStore } from '@svc/store'
import t from 'tap'

const END = `insert into run_part (run_id, seq, json) select run_id, 3, '{"seq":3,"type":"error","error":{}}' from run;`
const FENCE = `update run set epoch = epoch + 1, status = 'failed';`

/** The part of a test that has a folder and ends what it started. */
interface TestOfFile {
  testdir(): string
  teardown(what: () => unknown): unknown
}

/** A run under way in a file, which waits to say more, and somebody else who writes to that file. */
async function runIn(t: TestOfFile) {
  const file = join(t.testdir(), 'app.db')
  const store = await createStore({ url: `sqlite:${file}` })
  const engine = createRunEngine({ stores: store, drainTimeout: 0 })
  const other = new DatabaseSync(file, { timeout: 5_000 })
  const keepAlive = setInterval(() => {}, 1_000)
  t.teardown(async () => {
    clearInterval(keepAlive)
    other.close()
    await engine.close()
    await store.close()
  })
  const go = Promise.withResolvers<void>()
  const acts = [
    { type: 'text', text: 'a' } as const,
    () => go.promise,
    { type: 'text', text: 'late' } as const
  ]
  const run = await engine.start(scriptedRunnable(acts), 'x')
  run.result().catch(() => {})
  return {
    run,
    other,
    go: go.resolve,
    stream: (heartbeat: number) => createSseStream(engine, run.runId, { heartbeat })
  }
}

for (const [what, sql] of Object.entries({ 'with a last part': FENCE + END, 'without one': FENCE })) {
  t.test(`who reads a run that another ended ${what} is woken when the run writes`, async (t) => {
    const { run, other, go, stream } = await runIn(t)
    const seen = textOf(stream(60_000))
    other.exec(sql)
    go()
    await t.rejects(run.result(), { code: 'RUN_ERR_STORE' })
    t.equal(/"type":"error"/.test(await seen), sql !== FENCE)
    t.notMatch(await seen, /late/)
  })

  t.test(`and when it is silent, sees the end ${what} within a heartbeat`, async (t) => {
    const { other, stream } = await runIn(t)
    const seen = textOf(stream(20))
    other.exec(sql)
    t.equal(/"type":"error"/.test(await seen), sql !== FENCE)
  })
}
