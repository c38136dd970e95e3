import { newRunId } from '@svc/contract'
import { storedRun, textEntry } from '@svc/testing'
import t from 'tap'
import { onPostgres, type StoreOnPostgres } from '../helpers/each-store.ts'

const DAY = 86_400_000
// Noon, so that no run of the test is of another day.
const FIRST = Date.parse('2026-03-01T12:00:00Z')
const OTHER = Date.parse('2026-02-01T12:00:00Z')

const daysOf = async (store: StoreOnPostgres, table: string) => {
  const rows = await store.query<{ name: string }>(
    'select relname as name from pg_class join pg_inherits on inhrelid = oid where inhparent = $1::regclass order by 1',
    [table]
  )
  return rows.map(({ name }) => name.replace(`${table}_`, '')).filter((name) => /^20260[23]0/.test(name))
}

/** A run that begins at a time, and has ended unless no end is given. */
async function addRun(store: StoreOnPostgres, begunAt: number, endedAt?: number): Promise<string> {
  const runId = newRunId(begunAt)
  await store.runs.create(storedRun({ runId, createdAt: begunAt }))
  const end = endedAt === undefined ? undefined : ({ status: 'completed', at: endedAt } as const)
  await store.log.append(runId, 1, [textEntry(1)], end)
  return runId
}

await onPostgres(t, async (t, open) => {
  t.test(
    'the logs of a day have a partition, made a day ahead and dropped once every run is past its retention',
    async (t) => {
      const store = await open({ retention: { maxAge: 2 * DAY } })
      t.teardown(() => store.close())
      await store.runs.sweep(FIRST)
      t.same(await daysOf(store, 'run_part'), ['20260301', '20260302'])
      t.same(await daysOf(store, 'file_chunk'), ['20260301', '20260302'])
      const [ended, late] = [await addRun(store, FIRST, FIRST + 1), await addRun(store, FIRST, FIRST + DAY)]
      const waiting = await addRun(store, FIRST + DAY)
      const inFirst = () => store.query<{ run_id: string }>('select run_id from run_part_20260301')
      t.same((await inFirst()).map(({ run_id }) => run_id).toSorted(), [ended, late].toSorted())

      await store.runs.sweep(FIRST + 2.6 * DAY)
      t.same(
        (await inFirst()).map(({ run_id }) => run_id),
        [late],
        'a log goes with its run while the day stays'
      )
      t.ok((await daysOf(store, 'run_part')).includes('20260301'))

      const announced: string[] = []
      store.runs.onRemove!((runIds) => void announced.push(...runIds))
      t.equal(await store.runs.sweep(FIRST + 3.6 * DAY), 1)
      t.same(announced, [late])
      t.same(await store.log.read(late, 0, { entries: 9, bytes: 9_999 }), [])
      for (const table of ['run_part', 'file_chunk'])
        t.notOk((await daysOf(store, table)).includes('20260301'), table)

      await store.runs.sweep(FIRST + 6 * DAY)
      t.ok((await daysOf(store, 'run_part')).includes('20260302'), 'an unfinished run keeps its day')
      t.equal((await store.log.read(waiting, 0, { entries: 9, bytes: 9_999 })).length, 1)
    }
  )

  t.test('runs whose day has no partition are kept beside', async (t) => {
    const store = await open({ retention: { maxAge: 2 * DAY } })
    t.teardown(() => store.close())
    const runId = await addRun(store, OTHER, OTHER)
    await store.runs.sweep(OTHER)
    t.same(await store.query('select run_id from run_part_other'), [{ run_id: runId }])
    const days = await daysOf(store, 'run_part')
    t.equal(days.includes('20260201'), false, 'today has rows beside')
    t.ok(days.includes('20260202'))
    t.equal(await store.runs.sweep(OTHER + 3 * DAY), 1)
    t.same(await store.query('select run_id from run_part_other'), [])
  })
})
