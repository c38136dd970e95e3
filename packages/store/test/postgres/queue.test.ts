import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { mock } from 'node:test'
import { createRunEngine, defineRunnable, type NextQuery, type StoredRun } from '@svc/registry'
import { codeOf, storedRun, textEntry } from '@svc/testing'
import { startPostgres, startProxy } from '@tools/postgres'
import type { Store } from '@svc/store'
import t, { type Test } from 'tap'
import { createNodes } from '../helpers/nodes.ts'

const server = await startPostgres().catch((err: Error) => err)
const ECHO = { registry: 'global', kind: 'agent', name: 'echo' } as const
const completed = { status: 'completed', at: 2 } as const
const any: NextQuery = { runnables: [ECHO], perOwner: 100, unlimited: 'anonymous' }

async function addRun({ queue }: Store, fields: Partial<StoredRun> = {}): Promise<string> {
  const run = storedRun({ runId: randomUUID(), epoch: 0, queuedAt: Date.now(), ...fields })
  await queue!.add(run, textEntry(1), {})
  return run.runId
}

/** Serves the queue of a store: its runs end when the test says so. */
async function serve(t: Test, store: Store, concurrency: number) {
  const queue = store.queue!
  const held = new Map<string, () => void>()
  let most = 0
  let changed = Promise.withResolvers<void>()
  const stop = await queue.serve(concurrency, async () => {
    const next = await queue.next(any)
    if (next === undefined) return false
    const { promise, resolve } = Promise.withResolvers<void>()
    held.set(next.runId, resolve)
    most = Math.max(most, held.size)
    changed.resolve()
    changed = Promise.withResolvers()
    await promise
    held.delete(next.runId)
    return true
  })
  t.teardown(async () => {
    for (const release of held.values()) release()
    await stop()
  })
  return {
    stop,
    release: (runId: string) => held.get(runId)!(),
    most: () => most,
    /** Resolves once these have begun. */
    async begun(...runIds: string[]) {
      while (!runIds.every((runId) => held.has(runId))) await changed.promise
    }
  }
}

t.setTimeout(240_000)

t.test('the queue on Postgres', { skip: server instanceof Error && server.message }, async (t) => {
  if (server instanceof Error) return
  const { url } = server
  t.teardown(() => server.stop())

  await t.test('nodes take runs at once: each begins once, within the limits', async (t) => {
    const { open } = await createNodes(t, url)
    const nodes = await Promise.all(Array.from({ length: 4 }, () => open()))
    const query = { ...any, perOwner: 2 }
    const owners = Array.from({ length: 12 }, (_, index) => `owner ${index}`)
    await Promise.all(
      owners.flatMap((owner) => nodes.flatMap((node) => [addRun(node, { owner }), addRun(node, { owner })]))
    )
    const inProgress = new Map<string, number>()
    const begun: string[] = []
    let most = 0
    const work = async ({ queue, log }: Store) => {
      while (begun.length < owners.length * 8) {
        const next = await queue!.next(query)
        if (next === undefined) continue
        const { owner, runId, epoch } = next
        begun.push(runId)
        inProgress.set(owner, (inProgress.get(owner) ?? 0) + 1)
        most = Math.max(most, inProgress.get(owner)!)
        await new Promise((resolve) => setImmediate(resolve))
        inProgress.set(owner, inProgress.get(owner)! - 1)
        await log.append(runId, epoch, [textEntry(2)], completed)
        queue!.ended!(runId)
      }
    }
    await Promise.all(nodes.flatMap((node) => [work(node), work(node), work(node)]))
    t.equal(new Set(begun).size, owners.length * 8)
    t.equal(begun.length, owners.length * 8)
    t.ok(most <= 2, `${most} runs of one owner at once`)
    t.equal(await nodes[0]!.queue!.isWaiting(), false)
  })

  await t.test('a run that another node has added begins', async (t) => {
    const { open } = await createNodes(t, url)
    const [first, second] = [await open(), await open()]
    const { begun } = await serve(t, first, 1)
    const runId = await addRun(second)
    await begun(runId)
    t.pass('it was told')
  })

  await t.test('lines are those of waiting runs, however these came and went', async (t) => {
    const { open, admin, schema } = await createNodes(t, url)
    const store = await open()
    const lines = async () => {
      const { rows } = await admin.query(
        `select owner, busy, head_at::int from ${schema}.queue_line l join ${schema}.queue_owner using (owner) order by owner`
      )
      return rows.map(({ owner, busy, head_at }) => `${owner} ${busy} ${head_at}`)
    }
    const queue = store.queue!
    const first = await addRun(store, { queuedAt: 1 })
    await addRun(store, { queuedAt: 2 })
    const withdrawn = await addRun(store, { owner: 'alan', queuedAt: 3 })
    // As a node of an earlier release does: it knows nothing of lines.
    await admin.query(
      `insert into ${schema}.run (run_id, registry, kind, name, session_id, owner, created_at, updated_at, status, epoch, bytes, queued_at)
       values ('old', 'global', 'agent', 'echo', 's', 'grace', 4, 4, 'submitted', 0, 0, 4)`
    )
    t.same(await lines(), ['ada 0 1', 'alan 0 3', 'grace 0 4'])
    t.equal((await queue.next(any))?.runId, first)
    t.same(await lines(), ['ada 1 2', 'alan 0 3', 'grace 0 4'])
    await queue.withdraw(withdrawn)
    await store.log.append(withdrawn, 1, [textEntry(2)], { status: 'canceled', at: 1 })
    queue.ended!(withdrawn)
    t.equal((await queue.next(any))?.runId, 'old')
    t.same(await lines(), ['ada 1 2'])
    // As a node of an earlier release begins a run.
    await admin.query(`update ${schema}.run set epoch = 1, node_id = 'n' where epoch = 0`)
    t.equal(await queue.next(any), undefined)
    t.same(await lines(), [])
  })

  await t.test('what a node has not reported that died is counted again', async (t) => {
    const { open, admin, schema } = await createNodes(t, url)
    mock.timers.enable({ apis: ['setInterval'] })
    t.teardown(() => mock.timers.reset())
    const store = await open()
    const one = { ...any, perOwner: 1 }
    const { queue } = store
    const [first, second] = [await addRun(store), await addRun(store)]
    t.equal((await queue!.next(one))?.runId, first)
    await admin.query(`update ${schema}.run set ended_at = 1, status = 'completed' where run_id = '${first}'`)
    t.equal(await queue!.next(one), undefined, 'nothing says that it has ended')
    const taken = Promise.withResolvers<string>()
    const stop = await queue!.serve(1, async () => {
      const next = await queue!.next(one)
      if (next !== undefined) taken.resolve(next.runId)
      return next !== undefined
    })
    mock.timers.tick(10_000)
    t.equal(await taken.promise, second)
    await stop()
  })

  await t.test('the limit of an owner holds for nodes with different runnables', async (t) => {
    const { open } = await createNodes(t, url)
    const names = ['echo', 'other', 'third']
    const nodes = await Promise.all(names.map(() => open()))
    const taken = new Map<string, number>()
    for (let round = 0; round < 30; round++) {
      const owner = `owner ${round}`
      await Promise.all(names.map((name, index) => addRun(nodes[index]!, { owner, name })))
      await Promise.all(
        names.map(async (name, index) => {
          const next = await nodes[index]!.queue!.next({
            ...any,
            runnables: [{ ...ECHO, name }],
            perOwner: 1
          })
          if (next !== undefined) taken.set(next.owner, (taken.get(next.owner) ?? 0) + 1)
        })
      )
    }
    t.equal(taken.size, 30)
    t.same(new Set(taken.values()), new Set([1]))
  })

  await t.test('to add a run and to take one reads few rows, whatever the number of owners', async (t) => {
    for (const owners of [10, 5_000]) {
      const { open, admin, schema } = await createNodes(t, url)
      const store = await open()
      const take = `select * from ${schema}.queue_take(5, 5, 'anonymous', 'n', 1, '{global}', '{agent}', '{echo}', '{}', '{}')`
      const add = (first: number, count: number) =>
        admin.query(
          `insert into ${schema}.run (run_id, registry, kind, name, session_id, owner, created_at, updated_at, status, epoch, bytes, queued_at)
           select 'r' || n, 'global', 'agent', 'echo', 's', 'owner ' || n % $1, n, n, 'submitted', 0, 0, n
           from generate_series($2::int, $2 + $3 - 1) n`,
          [owners, first, count]
        )
      const countRead = async () => {
        const { rows } = await admin.query(
          `select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::int as rows from pg_stat_xact_user_tables where schemaname = '${schema}'`
        )
        return Number(rows[0].rows)
      }
      // The server keeps the plans that it makes while there is nothing.
      for (let count = 0; count < 8; count++) await admin.query(take)
      await add(1, 5_000)
      t.equal((await store.runs.find('r4999'))?.queuePosition, 5_000 / owners)
      await admin.query('begin; set constraints all immediate')
      const before = await countRead()
      await add(5_001, 1)
      await admin.query(take)
      const read = (await countRead()) - before
      await admin.query('commit')
      t.ok(read > 0 && read < 120, `${read} rows of ${owners} owners`)
    }
  })

  await t.test('a node that stops serving leaves what waits to others', async (t) => {
    const { open } = await createNodes(t, url)
    const [first, second] = [await open(), await open()]
    const here = await serve(t, first, 1)
    const [long, next] = [await addRun(first), await addRun(first)]
    await here.begun(long)
    const stopped = here.stop()
    const there = await serve(t, second, 1)
    await there.begun(next)
    here.release(long)
    await stopped
    t.equal(here.most(), 1)
  })

  await t.test('a run is not stuck that was taken when the database did not answer for long', async (t) => {
    const proxy = await startProxy(url)
    t.teardown(() => proxy.close())
    const { open } = await createNodes(t, url)
    const store = await open({ url: proxy.url, prepare: false })
    const runId = await addRun(store)
    proxy.loseAnswers('queue_take')
    t.equal(await codeOf(async () => store.queue!.next(any)), 'STO_ERR_UNREACHABLE')
    proxy.pass()
    await store.lease!.whenHeld(new AbortController().signal)
    t.equal(await store.queue!.isWaiting(), false)
    const taken = await Promise.all([1, 2].map(async () => store.queue!.next(any)))
    t.same(taken.map((next) => next?.runId).filter(Boolean), [runId], 'it is taken again, once')
    t.equal(await store.queue!.next(any), undefined)
  })

  await t.test('a draining process takes no more runs; those it has go on in another', async (t) => {
    const { open } = await createNodes(t, url)
    const gate = Promise.withResolvers<void>()
    const begun: string[] = []
    const changed = new EventEmitter()
    const join = async (node: string) => {
      const flow = defineRunnable({
        kind: 'workflow',
        name: 'flow',
        resumable: true,
        queue: true,
        async *stream(input) {
          begun.push(`${node} ${String(input)}`)
          changed.emit('begun')
          await gate.promise
          yield { type: 'text', text: 'done' }
        }
      })
      const engine = createRunEngine({ stores: await open(), queue: { concurrency: 1 } })
      t.teardown(() => engine.close())
      await engine.resume(flow)
      await engine.recover()
      return { engine, flow }
    }
    const first = await join('first')
    const runs = []
    for (const input of ['1', '2', '3', '4']) runs.push(await first.engine.start(first.flow, input))
    while (begun.length < 1) await once(changed, 'begun')
    const second = await join('second')
    while (begun.length < 2) await once(changed, 'begun')
    t.same(begun, ['first 1', 'second 2'])
    const drained = first.engine.drain(60_000)
    gate.resolve()
    await drained
    for (const { runId } of runs)
      t.equal((await Array.fromAsync(second.engine.parts(runId))).at(-1)?.type, 'finish')
    const here = begun.filter((run) => run.startsWith('first'))
    t.same(here, ['first 1'], 'no other run begins here')
  })
})
