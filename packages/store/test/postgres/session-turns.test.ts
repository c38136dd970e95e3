import { storedRun, textEntry } from '@svc/testing'
import type { Store } from '@svc/store'
import t from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

const HOUR = 3_600_000
const endAt = (at: number) =>
  ({ status: 'failed', at, error: { code: 'X', message: 'x', retryable: false, statusCode: 500 } }) as const
const never = new AbortController().signal
const keyOf = (sessionId: string) =>
  ({ registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId }) as const

await onPostgres(t, async (t, _open, url) => {
  const { schema, admin, open } = await createNodes(t, url)
  const [first, second] = [await open(), await open()]

  /** Takes the turn of a session for a new run; returns the id of the run. */
  const takeTurn = async ({ runs, sessions }: Store, sessionId: string) => {
    const run = storedRun()
    await runs.create(run)
    await sessions.lock(keyOf(sessionId), never, run.runId)
    return run.runId
  }
  const sessionsOfTickets = async () => {
    const { rows } = await admin.query<{ session_key: string }>(
      `select session_key from ${schema}.session_turn order by 1`
    )
    return rows.map(({ session_key }) => session_key.split('/').at(-1)!.replace('ada', ''))
  }

  await t.test('a sweep removes the tickets that count for nothing, and no other', async (t) => {
    const over = await takeTurn(first, 'node and run are gone')
    await takeTurn(first, 'the node is gone')
    await first.sessions.lock(keyOf('no run, and the node is gone'), never)
    await admin.query(
      `delete from ${schema}.node where node_id = (select node_id from ${schema}.run where run_id = $1)`,
      [over]
    )
    const epoch = (await second.runs.lease(over))!
    await second.log.append(over, epoch, [textEntry(1)], endAt(Date.now()))
    t.notOk((await sessionsOfTickets()).includes('node and run are gone'), 'it goes with the end of the run')
    await admin.query(
      `insert into ${schema}.session_turn (session_key, ticket, holder, node_id) values ('node and run are gone', 1, $1, 'gone')`,
      [over]
    )
    const late = await takeTurn(second, 'the run ended just now')
    await second.log.append(late, 1, [textEntry(1)], endAt(Date.now()))
    const lost = await takeTurn(second, 'the run ended long ago')
    await second.log.append(lost, 1, [textEntry(1)], endAt(Date.now() - 2 * HOUR))
    await second.sessions.lock(keyOf('no run'), never)
    t.equal((await sessionsOfTickets()).length, 6)
    await second.sessions.sweep(Date.now())
    t.same((await sessionsOfTickets()).toSorted(), ['no run', 'the node is gone', 'the run ended just now'])
  })
  await t.test('only the write that ends an accepted run frees its place', async (t) => {
    const key = keyOf('accepted')
    const accept = async ({ runs, sessions }: Store) => {
      const { runId } = storedRun()
      const creating = runs.create({ ...storedRun(), runId })
      const { position } = await sessions.place!(key, runId)
      await creating
      return { runId, position }
    }
    const [one, two] = [await accept(first), await accept(second)]
    const endTurn = await first.sessions.lock(key, never, one.runId)
    endTurn()
    t.equal((await accept(second)).position, 2, 'a run that is to be resumed has its place')
    t.equal((await first.sessions.place!(key, one.runId)).position, 0, 'the same one')
    const place = await second.sessions.place!(key, two.runId)
    place.leave()
    t.equal((await accept(first)).position, 3, 'a run that was not ended has its place')
    const controller = new AbortController()
    const waiting = t.rejects(
      async () => second.sessions.lock(key, controller.signal, two.runId),
      /store failure/
    )
    controller.abort(new Error('store failure'))
    await waiting
    t.equal((await accept(second)).position, 4, 'one that waits no more, too')
    await first.log.append(one.runId, 1, [textEntry(1)], endAt(Date.now()))
    const end = await second.sessions.lock(key, never, two.runId)
    await second.log.append(two.runId, 1, [textEntry(1)], endAt(Date.now()))
    t.equal((await accept(first)).position, 4, 'a turn that is at work may last longer than its run')
    end()
    t.equal((await accept(second)).position, 4)
  })
  await t.test('the end of a run frees its place, whichever node writes it', async (t) => {
    const key = keyOf('elsewhere')
    const run = storedRun()
    await first.runs.create(run)
    await first.sessions.place!(key, run.runId)
    await first.lease!.release(run.runId)
    const epoch = (await second.runs.lease(run.runId))!
    await second.log.append(run.runId, epoch, [textEntry(1)], endAt(Date.now()))
    const next = storedRun()
    await second.runs.create(next)
    t.equal((await second.sessions.place!(key, next.runId)).position, 0)
    await second.sessions.place!(key, run.runId)
    const last = storedRun()
    await first.runs.create(last)
    t.equal((await second.sessions.place!(key, last.runId)).position, 1, 'a run that has ended gets no other')
  })
  await t.test('a caller that fails on the news of its place leaves the turn to the next one', async (t) => {
    const lock = (holder: string, onPlace?: () => void) =>
      second.sessions.lock(keyOf('news'), never, holder, onPlace)
    const end = await lock('first')
    let news = 0
    const failing = lock('failing', () => {
      if (++news > 1) throw new Error('bad news')
    })
    const refused = t.rejects(async () => failing, /bad news/)
    const last = lock('last')
    await refused
    end()
    const endLast = await last
    endLast()
  })
})
