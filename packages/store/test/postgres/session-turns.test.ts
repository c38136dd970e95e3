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
    const late = await takeTurn(second, 'the run ended just now')
    await second.log.append(late, 1, [textEntry(1)], endAt(Date.now()))
    const lost = await takeTurn(second, 'the run ended long ago')
    await second.log.append(lost, 1, [textEntry(1)], endAt(Date.now() - 2 * HOUR))
    await second.sessions.lock(keyOf('no run'), never)
    t.equal((await sessionsOfTickets()).length, 6)
    await second.sessions.sweep(Date.now())
    t.same((await sessionsOfTickets()).toSorted(), ['no run', 'the node is gone', 'the run ended just now'])
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
