import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { codeOf, storedRun } from '@svc/testing'
import t from 'tap'
import { onPostgres, type StoreOnPostgres } from '../helpers/each-store.ts'

const CHUNK = 262_144
const MEGABYTE = 1_048_576

const chunksOf = (store: StoreOnPostgres) =>
  store.query<{ seq: number; length: number }>(
    'select seq, octet_length(bytes) as length from file_chunk order by seq'
  )

await onPostgres(t, async (t, open) => {
  t.test('a file is stored in chunks, and a range reads its chunks only', async (t) => {
    const store = await open()
    t.teardown(() => store.close())
    const content = randomBytes(MEGABYTE + 5)
    // Pieces of odd sizes.
    const pieces = (async function* () {
      for (let at = 0; at < content.length; at += 77_777) yield content.subarray(at, at + 77_777)
    })()
    const { fileId } = await store.files.put('r', { mimeType: 'a/b', content: pieces })
    t.same(await chunksOf(store), [
      ...Array.from({ length: 4 }, (_, seq) => ({ seq, length: CHUNK })),
      { seq: 4, length: 5 }
    ])
    const read = async (start: number, end: number) =>
      await buffer((await store.files.get('r', fileId, { start, end }))!.content)
    for (const [start, end] of [
      [0, MEGABYTE + 5],
      [CHUNK - 1, CHUNK + 1],
      [CHUNK, 2 * CHUNK],
      [MEGABYTE + 4, MEGABYTE + 9]
    ] as const)
      t.ok((await read(start, end)).equals(content.subarray(start, end)), `${start}–${end}`)

    const last = (await store.files.get('r', fileId, { start: CHUNK }))!
    const all = (await store.files.get('r', fileId))!
    await store.query('delete from file_chunk where seq = 0')
    t.ok((await buffer(last.content)).equals(content.subarray(CHUNK)))
    t.equal(await codeOf(() => buffer(all.content)), 'RUN_ERR_NOT_FOUND')
    t.equal(await store.files.get('r', fileId), undefined, 'damaged')
  })

  t.test('the files of a removed run leave no chunk, and no refused file does', async (t) => {
    const store = await open({ files: { maxRunBytes: 600_000 } })
    t.teardown(() => store.close())
    const put = (content: Uint8Array) => store.files.put('r', { mimeType: 'a/b', content })
    await put(Buffer.alloc(300_000))
    t.equal(await codeOf(() => put(Buffer.alloc(400_000))), 'RUN_ERR_FILE_LIMIT')
    t.same(await chunksOf(store), [
      { seq: 0, length: CHUNK },
      { seq: 1, length: 300_000 - CHUNK }
    ])
    await store.files.remove(['r'])
    t.same(await chunksOf(store), [])
  })

  t.test('chunks that a crash left are removed after a day, by any process', async (t) => {
    const store = await open()
    t.teardown(() => store.close())
    const run = storedRun()
    await store.runs.create(run)
    const { fileId } = await store.files.put(run.runId, { mimeType: 'a/b', content: Buffer.from('kept') })
    const insert = (id: string, age: string) =>
      store.query(
        `insert into file_chunk select 'x', $1, seq, 'a', clock_timestamp() - $2::interval from generate_series(0, 1) seq`,
        [id, age]
      )
    await insert('left', '25 hours')
    await insert('written', '1 hour')
    await store.query(
      `update file_chunk set written_at = written_at - interval '2 days' where file_id = $1`,
      [fileId]
    )
    await store.runs.sweep(Date.now())
    const rows = await store.query<{ file_id: string }>('select distinct file_id from file_chunk')
    t.same(rows.map(({ file_id }) => file_id).toSorted(), [fileId, 'written'].toSorted())
  })
})
