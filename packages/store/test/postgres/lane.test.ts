import { codeOf, storedRun, textEntry } from '@svc/testing'
import { startProxy } from '@tools/postgres'
import t from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

const all = { entries: 1_000, bytes: 1_000_000 }
const working = { status: 'working', at: 2 } as const
const completed = { status: 'completed', at: 3, preview: 'done' } as const

await onPostgres(t, async (t, open, url) => {
  await t.test('what a lost answer leaves unknown is written once', async (t) => {
    const proxy = await startProxy(url)
    t.teardown(() => proxy.close())
    const { open } = await createNodes(t, url)
    const store = await open({ url: proxy.url })
    const [created, appended, ended] = [storedRun(), storedRun(), storedRun()]
    for (const run of [appended, ended]) await store.runs.create(run)
    const { runs, log } = store
    const writes: [string, () => unknown][] = [
      ['create', () => runs.create(created)],
      ['append', () => log.append(appended.runId, 1, [textEntry(1)], undefined, [{ key: 'a', output: 1 }])],
      ['change', () => log.append(appended.runId, 1, [textEntry(2)], working)],
      ['step', () => runs.recordStep(appended.runId, 1, 'b', 2)],
      ['checkpoint', () => store.checkpoints.save(appended.runId, 1, { step: 1 })],
      ['end', () => log.append(ended.runId, 1, [textEntry(1)], completed)]
    ]
    for (const [name, write] of writes) {
      proxy.loseAnswers()
      const done = (async () => write())()
      await proxy.lost()
      proxy.pass()
      t.equal(await done, undefined, name)
    }
    t.equal((await runs.find(created.runId))?.status, 'submitted')
    t.same(
      (await log.read(appended.runId, 0, all)).map(({ seq }) => seq),
      [1, 2]
    )
    for (const [key, output] of [
      ['a', 1],
      ['b', 2]
    ] as const)
      t.same(await runs.readStep(appended.runId, key), { output })
    t.same(await store.checkpoints.load(appended.runId), { epoch: 1, state: { step: 1 } })
    t.equal((await runs.get(ended.runId))?.status, 'completed')
    t.equal(await codeOf(() => log.append(ended.runId, 1, [textEntry(2)], completed)), 'RUN_ERR_FENCED')
  })

  await t.test('a write that the database refuses fails alone', async (t) => {
    const { schema, admin, open } = await createNodes(t, url)
    const store = await open()
    const all = Array.from({ length: 50 }, () => storedRun())
    for (const run of all) await store.runs.create(run)
    await admin.query(`create function ${schema}.refuse() returns trigger language plpgsql as
      $$ begin if new.json like '%poison%' then raise 'poisoned'; end if; return new; end $$`)
    await admin.query(`create trigger refuse before insert on ${schema}.run_part
      for each row execute function ${schema}.refuse()`)
    const poisoned = new Set([7, 30])
    const settled = await Promise.allSettled(
      all.map(async ({ runId }, index) => {
        const entry = textEntry(1, poisoned.has(index) ? 'poison' : 'fine')
        await store.log.append(runId, 1, [entry], index % 2 === 0 ? working : undefined)
      })
    )
    t.same(
      settled.flatMap(({ status }, index) => (status === 'rejected' ? [index] : [])),
      [...poisoned]
    )
    for (const [index, { runId }] of all.entries())
      t.equal(
        (await store.log.read(runId, 0, { entries: 9, bytes: 9_000 })).length,
        poisoned.has(index) ? 0 : 1
      )
    const seq = 2 ** 31
    const tooLarge = { seq, json: '{}', part: { seq, type: 'text', at: 1, text: '' } } as const
    const late = storedRun()
    const [refused] = await Promise.allSettled([
      (async () => store.log.append(all[0]!.runId, 1, [tooLarge]))(),
      (async () => store.runs.create(late))()
    ])
    t.equal(refused?.status, 'rejected', 'a number that no column has')
    t.ok(await store.runs.find(late.runId))
  })

  await t.test('writes of one run take effect in call order, in one batch or several', async (t) => {
    const store = await open()
    t.teardown(() => store.close())
    const { runs, log, checkpoints } = store
    const run = storedRun()
    const { runId } = run
    const settled = await Promise.allSettled([
      (async () => runs.create(run))(),
      (async () => log.append(runId, 1, [textEntry(1)]))(),
      (async () => runs.recordStep(runId, 1, 'a', 1))(),
      (async () => checkpoints.save(runId, 1, 'first'))(),
      (async () => checkpoints.save(runId, 1, 'second'))(),
      (async () => log.append(runId, 1, [textEntry(2)], working))(),
      (async () => log.append(runId, 1, [textEntry(3)], completed))(),
      (async () => log.append(runId, 1, [textEntry(4)]))(),
      (async () => runs.recordStep(runId, 1, 'late', 1))(),
      (async () => checkpoints.save(runId, 1, 'late'))()
    ])
    const codes = settled.map((each) => (each.status === 'fulfilled' ? 'done' : each.reason.code))
    t.same(codes, [
      ...Array.from({ length: 7 }, () => 'done'),
      ...Array.from({ length: 3 }, () => 'RUN_ERR_FENCED')
    ])
    t.equal((await log.read(runId, 0, all)).length, 3)
    t.equal(await runs.readStep(runId, 'a'), undefined, 'steps go with the end of the run')
    t.equal(await checkpoints.load(runId), undefined)
  })
})
