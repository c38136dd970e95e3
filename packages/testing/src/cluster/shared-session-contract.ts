import type { SessionKey, SessionMessage, Stores } from '@svc/contract'
import { completed, textEntry } from '../stored-run.ts'
import { startRun, type TestTwoStores } from './two-stores.ts'

const key: SessionKey = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' }
const never = new AbortController().signal
const message = (content: string): SessionMessage => ({ role: 'user', content })

/** The part of the contract about sessions whose turns are on several nodes. */
export function sharedSessionContract(test: TestTwoStores): void {
  test('turns of a session on both nodes follow each other', async (t, { first, second }) => {
    let turns = 0
    let most = 0
    const each = Array.from({ length: 20 }, async (_, index) => {
      const { sessions } = index % 2 === 0 ? first : second
      const release = await sessions.lock(key, never, await startRun(index % 2 === 0 ? first : second))
      most = Math.max(most, ++turns)
      const earlier = await sessions.load(key, 100)
      await sessions.append(key, `turn ${index}`, [message(`${earlier.length}`)])
      turns--
      release()
    })
    await Promise.all(each)
    t.equal(most, 1)
    t.same(
      await first.sessions.load(key, 100),
      each.map((_, index) => message(`${index}`)),
      'each turn sees those before it'
    )
  })

  test('turns begin in the order in which they were asked for', async (t, { first, second }) => {
    const order: string[] = []
    const one = await first.sessions.lock(key, never, await startRun(first))
    const others: Promise<unknown>[] = []
    for (const [name, stores] of [
      ['two', second],
      ['three', second]
    ] as const) {
      const runId = await startRun(stores)
      others.push(
        (async () => stores.sessions.lock(key, never, runId))().then((release) => {
          order.push(name)
          release()
        })
      )
    }
    await second.sessions.load(key, 1)
    t.same(order, [])
    one()
    await Promise.all(others)
    t.same(order, ['two', 'three'])
  })

  test('an accepted run has its place before it asks for its turn', async (t, { first, second }) => {
    const order: string[] = []
    const begin = (name: string, stores: Pick<Stores, 'sessions'>, runId: string) =>
      (async () => stores.sessions.lock(key, never, runId))().then((release) => {
        order.push(name)
        release()
      })
    const one = await first.sessions.lock(key, never, await startRun(first))
    const [accepted, early, late] = [await startRun(first), await startRun(first), await startRun(second)]
    const leave = await first.sessions.place!(key, accepted)
    const leaveEarly = await first.sessions.place!(key, early)
    const waiting = begin('late', second, late)
    await second.sessions.load(key, 1)
    waiting.catch(() => {})
    const placed = begin('early', first, early)
    one()
    await second.sessions.load(key, 1)
    t.same(order, [], 'the first place is that of a run that has not asked yet')
    leave.leave()
    await Promise.all([placed, waiting])
    leaveEarly.leave()
    t.same(order, ['early', 'late'])
  })

  test('both nodes know the places of runs that wait', async (t, { first, second }) => {
    const [active, next, last] = [await startRun(first), await startRun(second), await startRun(first)]
    const end = await first.sessions.lock(key, never, active)
    const place = await second.sessions.place!(key, next)
    t.same([place.position, place.active], [1, active])
    const again = await second.sessions.place!(key, next, true)
    t.equal(again.position, 1, 'a place is kept')
    await first.sessions.place!(key, last)
    const refused = await second.sessions.place!(key, await startRun(second), true)
    t.equal(refused.active, active, 'the turn is not free')
    for (const { sessions } of [first, second]) {
      const places = await sessions.places!([active, next, last, 'unknown'])
      t.same(Object.fromEntries(places), { [next]: { position: 1, active }, [last]: { position: 2, active } })
    }
    end()
    const own = await second.sessions.lock(key, never, next)
    t.same((await second.sessions.places!([last])).get(last), { position: 1, active: next })
    own()
  })

  test('the turn of a dead node ends, but for a run that continues', async (t, {
    first,
    second,
    declareDead
  }) => {
    const runId = await startRun(first)
    await first.sessions.lock({ ...key, sessionId: 'other' }, never)
    await first.sessions.lock(key, never, runId)
    await declareDead()
    const anonymous = await second.sessions.lock({ ...key, sessionId: 'other' }, never)
    anonymous()
    const order: string[] = []
    const next = (async () => second.sessions.lock(key, never, await startRun(second)))().then((release) => {
      order.push('next')
      release()
    })
    t.equal(await second.runs.lease(runId), 2)
    const taken = await second.sessions.lock(key, never, runId)
    await second.sessions.load(key, 1)
    t.same(order, [], 'its turn is the first still')
    order.push('taken')
    taken()
    await next
    t.same(order, ['taken', 'next'])
  })

  test('a suspended run keeps its turn on whichever node continues it', async (t, { first, second }) => {
    const runId = await startRun(first)
    const suspend = await first.sessions.lock(key, never, runId)
    const order: string[] = []
    const next = (async () => second.sessions.lock(key, never, await startRun(second)))().then((release) => {
      order.push('next')
      release()
    })
    suspend(true)
    await first.lease.release(runId)
    t.equal(await second.runs.lease(runId), 2)
    const continued = await second.sessions.lock(key, never, runId)
    order.push('continued')
    continued()
    await next
    t.same(order, ['continued', 'next'])
  })

  test('the turn of a dead node ends with its run', async (t, { first, second, declareDead }) => {
    const runId = await startRun(first)
    await first.sessions.lock(key, never, `${runId}/member`)
    await declareDead()
    const next = (async () => second.sessions.lock(key, never, await startRun(second)))()
    const epoch = (await second.runs.lease(runId))!
    await second.log.append(runId, epoch, [textEntry(1)], completed)
    const release = await next
    release()
    t.same(await second.sessions.load(key, 1), [])
  })

  test('a wait for a turn ends with its signal', async (t, { first, second }) => {
    const one = await first.sessions.lock(key, never, await startRun(first))
    const controller = new AbortController()
    const reason = new Error('aborted')
    const waiting = (async () => second.sessions.lock(key, controller.signal, await startRun(second)))()
    const third = (async () => second.sessions.lock(key, never, await startRun(second)))()
    await second.sessions.load(key, 1)
    controller.abort(reason)
    t.equal(await waiting.catch((err: unknown) => err), reason)
    one()
    const release = await third
    release()
  })
}
