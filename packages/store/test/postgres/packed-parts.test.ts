import { storedRun, textEntry } from '@svc/testing'
import type { Store } from '@svc/store'
import { startProxy } from '@tools/postgres'
import t from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

const PARTS = 5
const all = { entries: 1_000, bytes: 1_000_000 }
const entries = (from: number, to: number, text = 'Hello') =>
  Array.from({ length: to - from + 1 }, (_, index) => textEntry(from + index, `${text} ${from + index}`))
const lease = { ttl: 2_000, beat: 50 }

await onPostgres(t, async (t, _open, url) => {
  const { admin, schema, open } = await createNodes(t, url)
  const rowsOf = async (runId: string) => {
    const text = `select seq from ${schema}.run_part where run_id = $1 order by seq`
    return (await admin.query<{ seq: number }>(text, [runId])).rows.map(({ seq }) => seq)
  }
  const create = async ({ runs }: Store) => {
    const run = storedRun()
    await runs.create(run)
    return run.runId
  }
  const write = async (store: Store) => {
    const runId = await create(store)
    await store.log.append(runId, 1, entries(1, PARTS))
    return runId
  }
  /** Writes until a log has so many rows. */
  const writeUntil = async (store: Store, rows: number) => {
    for (;;) {
      const runId = await write(store)
      if ((await rowsOf(runId)).length === rows) return runId
    }
  }
  const writer = await open({ lease })
  const reader = await open({ lease })
  const read = async (runId: string, after: number, limit = all) =>
    (await reader.log.read(runId, after, limit)).map(({ seq, json }) => {
      t.equal((JSON.parse(json) as { seq: number }).seq, seq)
      return seq
    })

  await t.test('the parts of an append share a row, and are read one by one', async (t) => {
    const runId = await writeUntil(writer, 1)
    t.same(await rowsOf(runId), [PARTS])
    await writer.log.append(runId, 1, entries(6, 9, 'x'.repeat(700)))
    t.same(await rowsOf(runId), [5, 7, 9], 'a row of 2 kB would be stored apart')
    t.same(await read(runId, 0), [1, 2, 3, 4, 5, 6, 7, 8, 9])
    for (let after = 1; after <= 9; after++)
      t.same(await read(runId, after), [1, 2, 3, 4, 5, 6, 7, 8, 9].slice(after))
    t.same(await read(runId, 3, { ...all, entries: 3 }), [4, 5, 6])
    t.same(await read(runId, 1, { ...all, bytes: 1 }), [2], 'one at least')
  })

  await t.test('numbers that were skipped begin another row', async (t) => {
    const runId = await create(writer)
    await writer.log.append(runId, 1, [...entries(1, 2), ...entries(1_000_000, 1_000_001)])
    t.same(await rowsOf(runId), [2, 1_000_001])
    t.same(await read(runId, 0), [1, 2, 1_000_000, 1_000_001])
    t.same(await read(runId, 2), [1_000_000, 1_000_001])
  })

  await t.test('what another attempt joins otherwise is read once', async (t) => {
    const runId = await create(writer)
    await writer.log.append(runId, 1, entries(1, 2))
    await writer.log.append(runId, 1, entries(1, 4))
    t.same(await rowsOf(runId), [2, 4])
    t.same(await read(runId, 0), [1, 2, 3, 4])
    t.same(await read(runId, 1), [2, 3, 4])
  })

  await t.test('a repetition after a lost answer writes the same rows', async (t) => {
    const proxy = await startProxy(url)
    t.teardown(() => proxy.close())
    const store = await open({ url: proxy.url, lease })
    const runId = await writeUntil(store, 1)
    proxy.loseAnswers('An answer is lost')
    const written = (async () => store.log.append(runId, 1, entries(6, 8, 'An answer is lost')))()
    await proxy.lost()
    proxy.pass()
    await written
    t.same(await rowsOf(runId), [5, 8])
  })

  await t.test('while a node of an earlier release serves, a row has one part', async (t) => {
    await admin.query(`insert into ${schema}.node values ('earlier', now() + interval '1 hour')`)
    const runId = await writeUntil(writer, PARTS)
    t.same(await read(runId, 0), [1, 2, 3, 4, 5])
    await admin.query(`delete from ${schema}.node where node_id = 'earlier'`)
    await writeUntil(writer, 1)
  })
})
