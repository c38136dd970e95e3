import { setImmediate } from 'node:timers/promises'
import { startProxy } from '@tools/postgres'
import { storedRun, textEntry } from '@svc/testing'
import t from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

const limit = { entries: 512, bytes: 65_536 }
const completed = { status: 'completed', at: 3 } as const

await onPostgres(t, async (t, _open, url) => {
  const proxy = await startProxy(url)
  t.teardown(() => proxy.close())
  const { open } = await createNodes(t, url)
  const store = await open({ url: proxy.url, lease: { ttl: 60_000, beat: 20_000 } })
  const { runs, log } = store
  const seqs = async (runId: string, after: number) =>
    (await log.read(runId, after, limit)).map(({ seq }) => seq)

  await t.test('readers of a run of this node need no database', async (t) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    for (let seq = 1; seq <= 20; seq++) await log.append(runId, 1, [textEntry(seq)])
    const unfollow = log.follow(runId, () => {})
    for (let seq = 21; seq <= 600; seq++) await log.append(runId, 1, [textEntry(seq)])
    proxy.hold()
    t.same(await seqs(runId, 599), [600])
    t.same(await seqs(runId, 600), [], 'there are none yet')
    t.equal((await seqs(runId, 400)).length, 200)
    proxy.pass()
    t.same((await seqs(runId, 0)).slice(0, 2), [1, 2], 'older parts come from the database')
    unfollow()
  })

  await t.test('a follower that comes during an append misses nothing', async (t) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    for (let round = 0; round < 20; round++) {
      const appended = log.append(runId, 1, [textEntry(round + 1)], round === 19 ? completed : undefined)
      let last = round
      let wake = Promise.withResolvers<void>()
      const unfollow = log.follow(runId, () => wake.resolve())
      while (last < round + 1) {
        const page = await seqs(runId, last)
        last = page.at(-1) ?? last
        if (page.length > 0) continue
        await wake.promise
        wake = Promise.withResolvers()
      }
      unfollow()
      await appended
    }
    t.equal((await seqs(runId, 0)).length, 20)
  })

  await t.test('logs without a reader are kept in the database only, but for the newest', async (t) => {
    const many = Array.from({ length: 2_500 }, () => storedRun())
    await Promise.all(many.map(async (run) => runs.create(run)))
    await Promise.all(many.map(async ({ runId }) => log.append(runId, 1, [textEntry(1)])))
    const [oldest, newest] = [many[0]!, many.at(-1)!]
    await setImmediate()
    proxy.hold()
    t.same(await seqs(newest.runId, 0), [1])
    const fromDatabase = seqs(oldest.runId, 0)
    proxy.pass()
    t.same(await fromDatabase, [1])
    await log.append(oldest.runId, 1, [textEntry(2)])
    t.same(await seqs(oldest.runId, 0), [1, 2])
  })
})
