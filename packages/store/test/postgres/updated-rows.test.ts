import { storedRun, textEntry } from '@svc/testing'
import t from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

const RUNS = 400
const AT_ONCE = 20
const usage = { promptTokens: 100, completionTokens: 200, totalTokens: 300 }

await onPostgres(t, async (t, _open, url) => {
  for (const length of [40, 400, 1_200, 5_000])
    await t.test(
      `the end of a run whose answer has ${length} characters updates its row in place`,
      async (t) => {
        const { admin, schema, open } = await createNodes(t, url)
        const store = await open()
        const result = { text: 'x'.repeat(length), usage } as never
        let last = ''
        for (let begun = 0; begun < RUNS; begun += AT_ONCE) {
          const runs = Array.from({ length: AT_ONCE }, (_, at) =>
            storedRun({ sessionId: `s${begun + at}`, createdAt: Date.now() })
          )
          await Promise.all(runs.map(async (run) => store.runs.create(run)))
          await Promise.all(
            runs.map(async ({ runId }) =>
              store.log.append(runId, 1, [textEntry(1)], {
                status: 'completed',
                at: Date.now(),
                preview: 'x'.repeat(Math.min(length, 200)),
                result,
                stats: { usage, firstTokenMs: 40 }
              })
            )
          )
          last = runs[0]!.runId
        }
        t.same((await store.runs.get(last))?.result, result)
        // A connection reports what it has done when it ends.
        await store.close()
        const stats = `select n_tup_upd::int as updates, n_tup_hot_upd::int as hot from pg_stat_user_tables where schemaname = $1 and relname = 'run'`
        const read = async () =>
          (await admin.query<{ updates: number; hot: number }>(stats, [schema])).rows[0]!
        let found = await read()
        while (found.updates < RUNS) found = await read()
        t.equal(found.updates, RUNS)
        t.ok(found.hot >= 0.9 * RUNS, `${found.hot} of ${RUNS}`)
        const { rows } = await admin.query(
          `select (select count(*)::int from ${schema}.run_open) as open, (select count(*)::int from ${schema}.run_end) as ended`
        )
        t.same(rows, [{ open: 0, ended: RUNS }])
      }
    )
})
