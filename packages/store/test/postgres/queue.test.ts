import { randomUUID } from 'node:crypto'
import type { NextQuery, StoredRun } from '@svc/registry'
import { storedRun, textEntry } from '@svc/registry/testing'
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
})
