import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createRunEngine, defineRunnable, type NextQuery, type StoredRun } from '@svc/registry'
import { codeOf, storedRun, textEntry } from '@svc/testing'
import { startPostgres, startProxy } from '@tools/postgres'
import type { Store } from '@svc/store'
import t, { type Test } from 'tap'
import { createNodes } from '../helpers/nodes.ts'

const server = await startPostgres().catch((err: Error) => err)
const ECHO = { registry: 'global', kind: 'agent', name: 'echo' } as const
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

t.setTimeout(60_000)

t.test('the queue on Postgres', { skip: server instanceof Error && server.message }, async (t) => {
  if (server instanceof Error) return
  const { url } = server
  t.teardown(() => server.stop())

  await t.test('runs begin after a job could not be completed, though another takes long', async (t) => {
    const proxy = await startProxy(url)
    t.teardown(() => proxy.close())
    const { open, schema } = await createNodes(t, url)
    const store = await open({ url: proxy.url, prepare: false })
    const { begun, release, most } = await serve(t, store, 2)
    const [long, short] = [await addRun(store), await addRun(store)]
    await begun(long, short)
    proxy.loseAnswers(`delete from "${schema}_worker"._private_jobs`)
    release(short)
    await proxy.lost()
    proxy.pass()
    for (let count = 0; count < 3; count++) {
      const runId = await addRun(store)
      await begun(runId)
      release(runId)
    }
    t.equal(most(), 2, 'not more than asked for')
  })

  await t.test('runs begin though their jobs are lost, or no worker may get them', async (t) => {
    const { open, admin, schema } = await createNodes(t, url)
    const store = await open()
    const jobs = `${schema}_worker._private_jobs`
    const losses = [
      `delete from ${jobs}`,
      `update ${jobs} set locked_at = now(), locked_by = 'a worker that is gone'`,
      `update ${jobs} set attempts = max_attempts`,
      `update ${jobs} set run_at = now() + interval '1 hour'`
    ]
    const runs = []
    for (const loss of losses) {
      runs.push(await addRun(store))
      await admin.query(loss)
    }
    const { begun } = await serve(t, store, losses.length)
    await begun(...runs)
    t.pass('all have begun')
  })

  await t.test('jobs of workers that are gone do not stay', async (t) => {
    const { open, admin, schema } = await createNodes(t, url)
    const store = await open()
    const jobs = `${schema}_worker._private_jobs`
    for (let count = 0; count < 3; count++) await store.queue!.withdraw(await addRun(store))
    await admin.query(`update ${jobs} set locked_at = now() - interval '2 minutes', locked_by = 'gone'`)
    await admin.query(`update ${jobs} set attempts = max_attempts where id = (select min(id) from ${jobs})`)
    await serve(t, store, 1)
    for (let left = -1; left !== 0;)
      left = Number((await admin.query(`select count(*) from ${jobs}`)).rows[0].count)
    t.pass('none is left')
  })

  await t.test('a node that stops serving leaves the jobs to others', async (t) => {
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
    proxy.loseAnswers('commit\0')
    t.equal(await codeOf(async () => store.queue!.next(any)), 'STO_ERR_UNREACHABLE')
    proxy.pass()
    await store.lease!.whenHeld(new AbortController().signal)
    t.equal(await store.queue!.isWaiting(), false)
    const taken = await Promise.all([1, 2].map(async () => store.queue!.next(any)))
    t.same(taken.map((next) => next?.runId).filter(Boolean), [runId], 'it is taken again, once')
    t.equal(await store.queue!.next(any), undefined)
  })

  await t.test('without its package, an app that queues runs says so at its start', async (t) => {
    const script = new URL('../helpers/without-queue.ts', import.meta.url).pathname
    const output = execFileSync(process.execPath, ['--conditions=@svc/source', script, url], {
      encoding: 'utf8'
    })
    t.same(output.trim().split('\n'), [
      'a queue: STO_ERR_QUEUE_MISSING',
      'an agent with a queue: STO_ERR_QUEUE_MISSING',
      'no queue: none RUN_ERR_STORE STO_ERR_QUEUE_MISSING'
    ])
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
