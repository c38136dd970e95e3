import { sessionKeyText, type StoredRun } from '@svc/contract'
import { codeOf, storedRun, textEntry } from '@svc/testing'
import { startProxy } from '@tools/postgres'
import { Client } from 'pg'
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

  await t.test('what a lost connection commits during the repetition precludes nothing of it', async (t) => {
    const { schema, admin, open } = await createNodes(t, url)
    const watcher = new Client(url)
    await watcher.connect()
    t.teardown(() => watcher.end())
    const store = await open()
    const ended = storedRun()
    await store.runs.create(ended)
    const key = { registry: 'global', owner: 'ada', kind: 'agent', name: 'a', sessionId: 's' } as const
    const { rows } = await admin.query<{ pid: number }>('select pg_backend_pid() as pid')
    const blocked = async (besides?: number) => {
      const text = 'select pid from pg_stat_activity where $1 = any (pg_blocking_pids(pid)) and pid <> $2'
      for (;;) {
        const found = await watcher.query<{ pid: number }>(text, [rows[0]!.pid, besides ?? 0])
        if (found.rows[0] !== undefined) return found.rows[0].pid
      }
    }
    /** Writes that the transaction of a lost connection commits only when their repetition waits for it. */
    const repeatDuring = async <T>(statements: readonly string[], write: () => Promise<T>) => {
      await admin.query('begin')
      for (const statement of statements) await admin.query(statement)
      const written = write()
      const first = await blocked()
      await watcher.query('select pg_terminate_backend($1)', [first])
      await blocked(first)
      await admin.query('commit')
      return written
    }
    const insert = ({ runId, startKey }: StoredRun) => {
      const row = { run_id: runId, start_key: startKey?.key ?? null, start_hash: startKey?.hash ?? null }
      return `insert into ${schema}.run select (jsonb_populate_record(r, '${JSON.stringify(row)}')).*
        from ${schema}.run r where run_id = '${ended.runId}'`
    }
    const [keyed, placed, next] = [
      storedRun({ startKey: { key: 'k', hash: 'h' } }),
      storedRun({ startKey: { key: 'l', hash: 'h' } }),
      storedRun()
    ]
    for (const run of [keyed, storedRun()])
      t.equal(await repeatDuring([insert(run)], async () => store.runs.create(run)), undefined, 'a run')
    const ticket = `insert into ${schema}.session_turn (session_key, ticket, holder, node_id)
      select '${sessionKeyText(key)}', 7, run_id, node_id from ${schema}.run where run_id = '${placed.runId}'`
    const [created, place] = await repeatDuring([insert(placed), ticket], () =>
      Promise.all([
        (async () => store.runs.create(placed))(),
        (async () => store.sessions.place!(key, placed.runId))()
      ])
    )
    t.equal(created, undefined, 'a run with its place')
    t.equal(place.position, 0)
    const behind = await store.sessions.place!(key, next.runId)
    t.match(behind, { position: 1, active: placed.runId }, 'which it has once')
    const end = `update ${schema}.run set status = 'completed', ended_at = 3 where run_id = '${ended.runId}'`
    const append = async () => store.log.append(ended.runId, 1, [textEntry(1)], completed)
    t.equal(await repeatDuring([end], append), undefined, 'the end of a run')
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

  await t.test('a run does not end whose turn the database refuses', async (t) => {
    const { schema, admin, open } = await createNodes(t, url)
    const store = await open()
    await admin.query(`create function ${schema}.refuse() returns trigger language plpgsql as
      $$ begin if new.message like '%poison%' then raise 'poisoned'; end if; return new; end $$`)
    await admin.query(`create trigger refuse before insert on ${schema}.session_message
      for each row execute function ${schema}.refuse()`)
    const all = Array.from({ length: 9 }, () => storedRun())
    for (const run of all) await store.runs.create(run)
    const poisoned = 4
    const ended = await Promise.all(
      all.map(async ({ runId }, index) => {
        const key = { registry: 'global', owner: 'ada', kind: 'agent', name: 'a', sessionId: runId } as const
        const content = index === poisoned ? 'poison' : 'fine'
        const settled = await Promise.allSettled([
          store.sessions.append(key, runId, [{ role: 'user', content }], { runId, epoch: 1 }),
          store.log.append(runId, 1, [textEntry(1)], completed)
        ])
        const { status } = (await store.runs.find(runId))!
        return [(await store.sessions.load(key, 9)).length, ...settled.map((each) => each.status), status]
      })
    )
    for (const [index, each] of ended.entries())
      t.same(
        each,
        index === poisoned
          ? [0, 'rejected', 'rejected', 'submitted']
          : [1, 'fulfilled', 'fulfilled', 'completed']
      )
  })

  await t.test('no run is created without its place', async (t) => {
    const { schema, admin, open } = await createNodes(t, url)
    const store = await open()
    await admin.query(`create function ${schema}.refuse() returns trigger language plpgsql as
      $$ begin if new.session_key like '%poison%' then raise 'poisoned'; end if; return new; end $$`)
    await admin.query(`create trigger refuse before insert on ${schema}.session_turn
      for each row execute function ${schema}.refuse()`)
    const all = Array.from({ length: 9 }, () => storedRun())
    const poisoned = 4
    const keyOf = (index: number) => {
      const sessionId = index === poisoned ? 'poison' : `s${index}`
      return { registry: 'global', owner: 'ada', kind: 'agent', name: 'a', sessionId } as const
    }
    // First all creations, then all places: a batch that is cut in the middle parts them.
    const creating = all.map(async (run) => store.runs.create(run))
    const placing = all.map(async ({ runId }, index) => store.sessions.place!(keyOf(index), runId))
    const [created, placed] = await Promise.all([Promise.allSettled(creating), Promise.allSettled(placing)])
    for (const [index, { runId }] of all.entries()) {
      const expected = index === poisoned ? 'rejected' : 'fulfilled'
      t.same([created[index]!.status, placed[index]!.status], [expected, expected])
      t.equal((await store.runs.find(runId)) === undefined, index === poisoned)
    }
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
