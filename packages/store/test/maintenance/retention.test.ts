import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { SessionKey } from '@svc/registry'
import { codeOf, storedRun, textEntry } from '@svc/testing'
import { createStore, type Store, type StoreOptions } from '@svc/store'
import t from 'tap'
import { eachStore } from '../helpers/each-store.ts'

const KIB = 1_024
const MIB = 1_048_576
const key: SessionKey = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' }

let clock = 0

/** Finished runs with logs of so many characters; the first one ended first. */
async function fill(store: Store, ...sizes: number[]): Promise<string[]> {
  const ids: string[] = []
  for (const size of sizes) {
    const run = storedRun()
    ids.push(run.runId)
    await store.runs.create(run)
    const entries = Array.from({ length: Math.ceil(size / 100_000) }, (_, at) =>
      textEntry(at + 1, 'x'.repeat(Math.min(size, 100_000)))
    )
    await store.log.append(run.runId, 1, entries, { status: 'completed', at: ++clock })
  }
  return ids
}

const left = async (store: Store) =>
  (await store.runs.list({ limit: 1_000 })).runs.map(({ runId }) => runId).toSorted()

await eachStore(t, async (t, open) => {
  const keep = (retention: NonNullable<StoreOptions['retention']>) => open({ retention })

  t.test('the oldest runs are removed when the logs exceed their limit', async (t) => {
    const store = await keep({ maxBytes: MIB })
    const ids = await fill(store, 400_000, 400_000, 100_000, 400_000, 400_000)
    t.equal(await store.runs.sweep(100), 2)
    t.same(await left(store), ids.slice(2).toSorted())
    t.equal(await store.runs.sweep(100), 0)
    await fill(store, 900_000)
    t.equal(await store.runs.sweep(100), 3)
    await store.close()
  })

  t.test('results, steps and many small parts count too, and active runs stay', async (t) => {
    const sizes: Record<string, (store: Store, runId: string) => unknown> = {
      parts: async ({ log }, runId) => {
        const entries = Array.from({ length: 800 }, (_, index) => textEntry(index + 1, 'é'))
        await log.append(runId, 1, entries)
      },
      steps: ({ runs }, runId) => runs.recordStep(runId, 1, 'a', 'é'.repeat(50 * KIB)),
      result: () => {}
    }
    for (const [what, write] of Object.entries(sizes)) {
      const store = await keep({ maxBytes: 100 * KIB })
      const run = storedRun()
      await store.runs.create(run)
      await write(store, run.runId)
      t.equal(await store.runs.sweep(100), 0, `${what} of a run that goes on`)
      const text = what === 'result' ? 'é'.repeat(52 * KIB) : ''
      const result = { text } as never
      await store.log.append(run.runId, 1, [], { status: 'completed', at: 1, result })
      t.equal(await store.runs.sweep(100), 1, what)
      await store.close()
    }
  })

  t.test('two sweeps at once remove no more than one', async (t) => {
    const store = await keep({ maxRuns: 250 })
    await fill(store, ...Array.from({ length: 700 }, () => 1))
    await Promise.all([store.runs.sweep(100), store.runs.sweep(100)])
    t.equal((await left(store)).length, 250)
    await store.close()
  })

  t.test('unused sessions are removed', async (t) => {
    const store = await keep({ sessionMaxAge: 60_000 })
    const say = async (sessionId: string, turn: string) =>
      store.sessions.append({ ...key, sessionId }, turn, [{ role: 'user', content: turn }])
    for (let index = 0; index < 250; index++) await say(`${index}`, 'a')
    t.equal(await store.sessions.sweep(Date.now() + 30_000), 0)
    t.equal(await store.sessions.sweep(Date.now() + 61_000), 250)
    t.same(await store.sessions.load({ ...key, sessionId: '0' }, 9), [])
    await say('0', 'a')
    t.equal((await store.sessions.load({ ...key, sessionId: '0' }, 9)).length, 1)
    await store.close()
  })

  t.test('a session that is used stays, however long ago it began', async (t) => {
    const store = await keep({ sessionMaxAge: 60_000 })
    const realNow = Date.now
    t.teardown(() => void (Date.now = realNow))
    const begun = realNow()
    const say = async (sessionId: string, seconds: number) => {
      Date.now = () => begun + seconds * 1_000
      await store.sessions.append({ ...key, sessionId }, `${seconds}`, [{ role: 'user', content: 'Hi' }])
      Date.now = realNow
    }
    const sweep = async (seconds: number) => store.sessions.sweep(begun + seconds * 1_000)
    for (let index = 0; index < 150; index++) await say(`used ${index}`, 0)
    await say('left', 1)
    for (let index = 0; index < 150; index++) await say(`used ${index}`, 50)
    t.equal(await sweep(55), 0)
    t.equal(await sweep(70), 1, 'the one that was left')
    t.equal(await sweep(105), 0)
    await say('used 7', 100)
    t.equal(await sweep(115), 149)
    t.equal((await store.sessions.load({ ...key, sessionId: 'used 7' }, 9)).length, 3)
    t.equal(await sweep(165), 1)
    await store.close()
  })

  t.test('sessions are kept for 30 days by default, and forever with 0', async (t) => {
    for (const [retention, removed] of [
      [{ sessionMaxAge: 0 }, [0, 0]],
      [{}, [0, 1]]
    ] as const) {
      const store = await keep(retention)
      await store.sessions.append(key, 'a', [{ role: 'user', content: 'a' }])
      const day = 86_400_000
      t.equal(await store.sessions.sweep(Date.now() + 29 * day), removed[0])
      t.equal(await store.sessions.sweep(Date.now() + 31 * day), removed[1])
      await store.close()
    }
  })
})

t.test('the file shrinks after a sweep', async (t) => {
  const file = join(t.testdir(), 'app.db')
  const store = await createStore({ url: `sqlite:${file}`, retention: { maxBytes: MIB } })
  await fill(store, ...Array.from({ length: 40 }, () => MIB))
  t.ok((await store.runs.sweep(100)) >= 39)
  await store.close()
  const { size } = statSync(file)
  t.ok(size < 24 * MIB, `${Math.round(size / MIB)} MiB`)
})

t.test('bad options are refused', async (t) => {
  for (const retention of [
    { maxBytes: -1 },
    { maxBytes: 1.5 },
    { sessionMaxAge: -1 },
    { memoryMaxItems: 0 },
    { maxSize: 1 }
  ])
    t.equal(
      await codeOf(() => createStore({ url: 'sqlite::memory:', retention: retention as object })),
      'STO_ERR_BAD_OPTION',
      JSON.stringify(retention)
    )
})

t.test('sweeps read an index', async (t) => {
  const file = join(t.testdir(), 'app.db')
  const store = await createStore({ url: `sqlite:${file}` })
  await store.close()
  const database = new DatabaseSync(file)
  const ended = 'ended_at is not null'
  const plan = (sql: string) => JSON.stringify(database.prepare(`explain query plan ${sql}`).all())
  t.match(plan(`select count(*), sum(bytes) from run where ${ended}`), /COVERING INDEX run_ended/)
  const oldest = plan(`select run_id, ended_at, bytes from run where ${ended} order by ended_at limit 100`)
  t.match(oldest, /INDEX run_ended/)
  t.notMatch(oldest, /TEMP B-TREE/)
  const withFiles = `${ended} and file_bytes > 0`
  t.match(plan(`select sum(file_bytes) from run where ${withFiles}`), /COVERING INDEX run_with_files/)
  const oldestFiles = plan(`select run_id, bytes from run where ${withFiles} order by ended_at limit 100`)
  t.match(oldestFiles, /INDEX run_with_files/)
  t.notMatch(oldestFiles, /TEMP B-TREE/)
  database.close()
})
