import {
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeSync
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { codeOf, storedRun, textEntry } from '@svc/testing'
import { createStore } from '@svc/store'
import t, { type Test } from 'tap'

const MINUTE = 60_000

/** A store of one run in a file of its own, all of it in the file itself, and none of it in memory. */
async function open(t: Test) {
  const file = join(t.testdir(), 'app.db')
  const first = await createStore({ url: `sqlite:${file}` })
  const run = storedRun()
  await first.runs.create(run)
  await first.log.append(run.runId, 1, [textEntry(1)])
  await first.close()
  const store = await createStore({ url: `sqlite:${file}` })
  t.teardown(() => store.close())
  return { file, run, store }
}

/** What a check rejects with; 'none' when it does not. */
async function faultOf(check: () => Promise<unknown>): Promise<unknown> {
  try {
    await check()
    return 'none'
  } catch (err) {
    return (err as Error).message
  }
}

t.test('a check is invisible and leaves nothing', async (t) => {
  const { file, run, store } = await open(t)
  const reader = new DatabaseSync(file, { readOnly: true })
  t.teardown(() => reader.close())
  const count = () =>
    reader.prepare('select (select count(*) from run) runs, (select count(*) from run_part) parts').get()
  const before = { ...count() }
  const seen = new Set<unknown>()
  let isOver = false
  const checks = Promise.all(Array.from({ length: 20 }, () => store.check())).then(() => (isOver = true))
  while (!isOver) {
    seen.add(JSON.stringify(count()))
    await new Promise((resolve) => setImmediate(resolve))
  }
  await checks
  t.same([...seen], [JSON.stringify(before)])
  t.match((await store.runs.list({ limit: 9 })).runs, [{ runId: run.runId }])
})

t.test('a check fails while another program holds its lock', async (t) => {
  const { file, store } = await open(t)
  const other = new DatabaseSync(file)
  other.exec('begin immediate')
  t.equal(await faultOf(() => store.check()), 'database is locked')
  other.close()
  t.equal(await faultOf(() => store.check()), 'none')
})

t.test(
  'a deleted, moved, replaced or emptied file fails a check and every write, until it is back',
  async (t) => {
    for (const what of ['deleted', 'replaced', 'its newest writes deleted'] as const) {
      const { file, run, store } = await open(t)
      await store.check()
      const gone = what === 'its newest writes deleted' ? `${file}-wal` : file
      renameSync(gone, `${gone}.away`)
      if (what === 'replaced') copyFileSync(`${gone}.away`, gone)
      t.match(await later(() => faultOf(() => store.check())), /was deleted, moved or replaced/, what)
      t.equal(await codeOf(() => store.log.append(run.runId, 1, [textEntry(2)])), 'STO_ERR_FILE_GONE', what)
      if (what === 'replaced') rmSync(gone)
      renameSync(`${gone}.away`, gone)
      t.equal(await faultOf(() => store.check()), 'none', what)
      await store.log.append(run.runId, 1, [textEntry(2)])
    }
    const { file, store } = await open(t)
    truncateSync(file)
    t.match(await later(() => faultOf(() => store.check())), /was deleted, moved or replaced/)
  }
)

t.test('a check fails while pages are damaged', async (t) => {
  const { file, store } = await open(t)
  const whole = readFileSync(file)
  const write = (bytes: Uint8Array, at: number) => {
    const descriptor = openSync(file, 'r+')
    writeSync(descriptor, bytes, 0, bytes.length, at)
    closeSync(descriptor)
  }
  // All but the first page, which this store has read.
  write(Buffer.alloc(whole.length - 4_096, 0xff), 4_096)
  for (const _ of [1, 2]) t.match(await faultOf(() => store.check()), /malformed/)
  write(whole.subarray(4_096), 4_096)
  t.equal(await faultOf(() => store.check()), 'none')
})

// Whether the file is there is looked at once a second.
async function later<T>(look: () => Promise<T>): Promise<T> {
  const { now } = performance
  const ahead = now.call(performance) + MINUTE
  t.intercept(performance, 'now', { value: () => ahead })
  return look()
}
