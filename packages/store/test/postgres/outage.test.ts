import { setTimeout as sleep } from 'node:timers/promises'
import { storedRun, textEntry } from '@svc/testing'
import { startPostgres, startProxy } from '@tools/postgres'
import { createStore, type Store } from '@svc/store'
import { Client } from 'pg'
import t from 'tap'

const RUNS = 20
const lease = { ttl: 2_000, beat: 200 }
const completed = { status: 'completed', at: 3 } as const
const server = await startPostgres().catch((err: Error) => err)

/** Appends parts to runs, one after the other each, until it is stopped; returns how many of each were acknowledged. */
function startWriting({ runs, log }: Store) {
  let stopped = false
  const ids: string[] = []
  const write = async () => {
    const { runId } = storedRun()
    ids.push(runId)
    await runs.create(storedRun({ runId }))
    let seq = 0
    while (!stopped) {
      await log.append(runId, 1, [textEntry(++seq)])
      await sleep(1)
    }
    await log.append(runId, 1, [textEntry(++seq)], completed)
    return { runId, parts: seq }
  }
  const all = Promise.all(Array.from({ length: RUNS }, write))
  return {
    ids,
    stop: () => {
      stopped = true
      return all
    }
  }
}

async function readAll({ log }: Store, runId: string): Promise<number[]> {
  const seqs: number[] = []
  for (;;) {
    const page = await log.read(runId, seqs.at(-1) ?? 0, { entries: 512, bytes: 65_536 })
    if (page.length === 0) return seqs
    seqs.push(...page.map(({ seq }) => seq))
  }
}

t.test('outages', { skip: server instanceof Error && server.message }, async (t) => {
  if (server instanceof Error) return
  const { url } = server
  const proxy = await startProxy(url)
  const store = await createStore({ url: proxy.url, lease })
  const other = await createStore({ url, lease })
  t.teardown(async () => {
    await store.close()
    await other.close()
    await proxy.close()
    await server.stop()
  })
  const lost: string[] = []
  store.lease!.onLost(() => void lost.push('through the proxy'))
  other.lease!.onLost(() => void lost.push('direct'))

  /** What was acknowledged is in the log, once and in order. */
  const check = async (
    t: { same(found: unknown, wanted: unknown): unknown },
    written: { runId: string; parts: number }[]
  ) => {
    for (const { runId, parts } of written)
      t.same(
        await readAll(other, runId),
        Array.from({ length: parts }, (_, index) => index + 1)
      )
  }

  await t.test('crashes of the server lose and double nothing', async (t) => {
    const writing = startWriting(store)
    for (let crash = 0; crash < 3; crash++) {
      await sleep(200)
      await server.restart('immediate')
    }
    await sleep(200)
    await check(t, await writing.stop())
    t.same(lost, [])
  })

  await t.test('connections that the server ends lose and double nothing', async (t) => {
    const writing = startWriting(store)
    const admin = new Client(url)
    await admin.connect()
    for (let round = 0; round < 10; round++) {
      await sleep(50)
      await admin.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname is not null'
      )
    }
    await admin.end()
    await check(t, await writing.stop())
    t.same(lost, [])
  })

  await t.test('a server that is away longer than the lease costs no run', async (t) => {
    const writing = startWriting(store)
    await sleep(100)
    await server.pause('immediate')
    await sleep(2 * lease.ttl)
    t.equal(store.lease!.held, false, 'no step begins meanwhile')
    await server.resume()
    const signal = AbortSignal.timeout(10_000)
    await Promise.all([store, other].map(async (each) => each.lease!.whenHeld(signal)))
    await sleep(lease.ttl)
    t.same((await other.runs.listLeft({ limit: 9 })).runs, [])
    await check(t, await writing.stop())
    t.same(lost, [], 'no node was declared dead before it could renew its lease')
  })

  await t.test('a node that is cut off loses its runs, and writes nothing after that', async (t) => {
    const writing = startWriting(store)
    const left = Promise.withResolvers<void>()
    other.lease!.onLeft(left.resolve)
    await sleep(100)
    proxy.hold()
    await left.promise
    t.equal(store.lease!.held, false)
    t.equal((await other.runs.listLeft({ limit: 99 })).runs.length, RUNS)
    const parts: number[] = []
    for (const runId of writing.ids) {
      t.equal(await other.runs.lease(runId), 2)
      parts.push((await readAll(other, runId)).length)
    }
    proxy.pass()
    const fenced = await writing.stop().catch((err: { code: string }) => err.code)
    t.equal(fenced, 'RUN_ERR_FENCED')
    await store.lease!.whenHeld(AbortSignal.timeout(10_000))
    t.same(lost, ['through the proxy'])
    for (const [index, runId] of writing.ids.entries())
      t.equal((await readAll(other, runId)).length, parts[index], 'nothing was added')
  })

  await t.test('an outage that was too long does not shorten the patience in the next one', async (t) => {
    const network = await startProxy(url)
    const outage = 500
    const impatient = await createStore({ url: network.url, lease: { ttl: 60_000 }, outage })
    t.teardown(async () => {
      await impatient.close()
      await network.close()
    })
    const { runId } = storedRun()
    await impatient.runs.create(storedRun({ runId }))
    network.cut()
    await t.rejects(async () => impatient.log.append(runId, 1, [textEntry(1)]), 'it was too long')
    network.pass()
    await sleep(2 * outage)
    network.cut()
    const appended = impatient.log.append(runId, 1, [textEntry(1)])
    await sleep(outage / 5)
    network.pass()
    await appended
    t.same(await readAll(impatient, runId), [1])
  })
})
