import type { SessionKey, SessionMessage, SessionStore, Stores, TurnPlace } from '@svc/contract'
import { RUN_ERR_SUSPENDED } from '@svc/contract/errors'
import { HOSTILE_TEXT, withStore, type ContractTest, type MakeStore } from './contract-test.ts'
import { completed, storedRun, textEntry } from './stored-run.ts'

const key: SessionKey = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' }
const never = new AbortController().signal
const turn = (text: string): SessionMessage[] => [
  { role: 'user', content: text },
  { role: 'assistant', text: `re: ${text}` }
]

/** The contract of every `SessionStore`. */
export function sessionStoreContract(t: ContractTest, make: MakeStore<SessionStore>): void {
  const test = (name: string, run: (t: ContractTest, store: SessionStore) => Promise<void>) =>
    withStore(t, make, name, run)

  test('returns the newest messages, oldest first', async (t, store) => {
    t.same(await store.load(key, 10), [])
    for (let index = 0; index < 10; index++) await store.append(key, `turn ${index}`, turn(`${index}`))
    t.same(await store.load(key, 4), [...turn('8'), ...turn('9')])
    t.equal((await store.load(key, 1_000)).length, 20)
    t.same(await store.load(key, 0), [])
  })

  test('reads a history from its newest summary', async (t, store) => {
    const all: SessionMessage[] = []
    const append = async (turnId: string, messages: SessionMessage[]) => {
      await store.append(key, turnId, messages)
      all.push(...messages)
    }
    const load = (count: number, maxBytes = Infinity) =>
      store.load(key, count, undefined, undefined, { maxBytes, fromSummary: true })
    // A store may ignore the bounds.
    const reads = async (count: number, expected: number) => {
      const messages = await load(count)
      t.same(messages, all.slice(-messages.length))
      t.ok([expected, Math.min(count, all.length)].includes(messages.length), `${messages.length} messages`)
    }
    t.same(await load(10), [])
    for (let index = 0; index < 150; index++) await append(`turn ${index}`, turn(`${index}`))
    await reads(1_000, 300)
    const short = await load(1_000, 1_000)
    t.ok(short.length > 0)
    t.same(short, all.slice(-short.length))
    await append('first', [{ role: 'summary', text: 'first', keeps: 4 }, ...turn('a')])
    await reads(1_000, 7)
    await append('second', [...turn('b'), { role: 'summary', keeps: 1, cut: 1 }, ...turn('c')])
    await reads(1_000, 4)
    await reads(3, 3)
    await append('far', [{ role: 'summary', text: 'far', keeps: 280 }])
    await reads(1_000, 281)
    await reads(100, 100)
    await append('all', [{ role: 'summary', text: 'all', keeps: 1_000_000 }])
    await reads(1_000, all.length)
  })

  test('saves a turn once', async (t, store) => {
    await store.append(key, 'one', turn('a'))
    await store.append(key, 'one', turn('a'))
    t.same(await store.load(key, 10), turn('a'))
  })

  test('keeps every field', async (t, store) => {
    const messages: SessionMessage[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'ü\n\u0000✓' },
          { type: 'image', mimeType: 'image/png', sha256: 'a', size: 3 }
        ]
      },
      {
        role: 'assistant',
        text: '',
        interrupted: true,
        toolCalls: [{ toolCallId: 'c', toolName: 't', args: { constructor: 1 } }]
      },
      { role: 'tool', toolCallId: 'c', toolName: 't', result: [1, { a: null }] },
      { role: 'tool', toolCallId: 'd', toolName: 't', error: { code: 'X', message: 'y' } }
    ]
    await store.append(key, 'one', messages)
    t.same(await store.load(key, 10), messages)
  })

  test('keeps large messages among small ones, in their order', async (t, store) => {
    const sizes = [1, 300_000, 2, 70_000, 65_000, 3]
    const messages = sizes.map((size) => ({ role: 'user' as const, content: 'ü'.repeat(size) }))
    await store.append(key, 'one', messages)
    t.same(await store.load(key, 10), messages)
    t.same(await store.load(key, 3), messages.slice(3))
  })

  test('distinguishes sessions by every part of their key', async (t, store) => {
    const keys: SessionKey[] = [
      key,
      { ...key, owner: 'bob' },
      { ...key, registry: 'agent' },
      { ...key, registry: 'b', name: '1', sessionId: 's/1/s' },
      { ...key, kind: 'team' },
      { ...key, name: 'ech' },
      { ...key, sessionId: 'os' },
      { ...key, owner: 'a', sessionId: 'das' },
      { ...key, sessionId: '__proto__' },
      { ...key, owner: '/1/s', sessionId: 's/1/s' }
    ]
    for (const [index, each] of keys.entries()) await store.append(each, 'turn', turn(`${index}`))
    for (const [index, each] of keys.entries()) t.same(await store.load(each, 10), turn(`${index}`))
    await store.remove(key)
    t.same(await store.load(key, 10), [])
    t.equal((await store.load(keys[1]!, 10)).length, 2)
  })

  test('keeps every text unchanged, and distinguishes keys by each character', async (t, store) => {
    const owners = ['ada', 'ada\u0000', 'ada\u0000eve', HOSTILE_TEXT]
    for (const owner of owners) await store.append({ ...key, owner }, HOSTILE_TEXT, turn(owner))
    for (const owner of owners) t.same(await store.load({ ...key, owner }, 9), turn(owner))
    const sessions = ['s\u0000', 's\u0000t', HOSTILE_TEXT]
    for (const sessionId of sessions) await store.append({ ...key, sessionId }, 'turn', turn(sessionId))
    for (const sessionId of sessions) t.same(await store.load({ ...key, sessionId }, 9), turn(sessionId))
    await store.append({ ...key, owner: HOSTILE_TEXT }, HOSTILE_TEXT, turn('again'))
    t.equal((await store.load({ ...key, owner: HOSTILE_TEXT }, 9)).length, 2, 'a turn is saved once')
  })

  test('does not sweep sessions just used', async (t, store) => {
    await store.append(key, 'one', turn('a'))
    t.equal(await store.sweep(Date.now()), 0)
    t.equal((await store.load(key, 10)).length, 2)
  })

  test('starts empty after removal', async (t, store) => {
    await store.append(key, 'one', turn('a'))
    await store.remove(key)
    await store.append(key, 'two', turn('b'))
    await store.append(key, 'three', turn('c'))
    t.same(await store.load(key, 10), [...turn('b'), ...turn('c')])
  })

  test('locks a session in the order of the requests', async (t, store) => {
    const order: string[] = []
    const first = await store.lock(key, never)
    const others = ['second', 'third'].map(async (name) => {
      const release = await store.lock(key, never)
      order.push(name)
      release()
      release()
    })
    const elsewhere = await store.lock({ ...key, sessionId: 'other' }, never)
    elsewhere()
    t.same(order, [])
    first()
    await Promise.all(others)
    t.same(order, ['second', 'third'])
    const again = await store.lock(key, never)
    again()
  })

  test('locks a session for one holder at a time, which may return', async (t, store) => {
    const order: string[] = []
    const first = await store.lock(key, never, 'run')
    const others = ['run', 'run/path', 'other'].map(async (holder) => {
      const release = await store.lock(key, never, holder)
      order.push(holder)
      release()
    })
    t.same(order, [])
    first()
    await Promise.all(others)
    t.same(order, ['run', 'run/path', 'other'])
    const again = await store.lock(key, never, 'run')
    again()
  })

  test('stops waiting for a lock when the signal aborts', async (t, store) => {
    const first = await store.lock(key, never)
    const controller = new AbortController()
    const waiting = (async () => store.lock(key, controller.signal))()
    const third = (async () => store.lock(key, never))()
    const reason = new Error('aborted')
    controller.abort(reason)
    t.equal(await waiting.catch((err: unknown) => err), reason)
    first()
    const release = await third
    release()
    t.equal(await (async () => store.lock(key, controller.signal))().catch((err: unknown) => err), reason)
  })
}

/** The contract of every `SessionStore` beside its `RunStore`: a suspended run keeps its turns. */
export function keptTurnContract(
  t: ContractTest,
  make: MakeStore<Pick<Stores, 'runs' | 'log' | 'sessions'>>
): void {
  withStore(t, make, 'keeps the turn of a suspended run until it takes it again', async (t, stores) => {
    const { runs, sessions } = stores
    const order: string[] = []
    const run = storedRun()
    await runs.create(run)
    const suspend = await sessions.lock(key, never, run.runId)
    const take = (name: string, holder?: string) =>
      (async () => sessions.lock(key, never, holder))().then((release) => {
        order.push(name)
        return release
      })
    const next = take('next')
    await sessions.load(key, 1)
    suspend(true)
    suspend()
    const elsewhere = await sessions.lock({ ...key, sessionId: 'other' }, never, run.runId)
    elsewhere(true)
    await sessions.load(key, 1)
    t.same(order, [], 'the turn is not free')
    const again = await take('again', run.runId)
    const third = take('again', run.runId)
    await sessions.load(key, 1)
    again(true)
    const last = await third
    last()
    const release = await next
    release()
    t.same(order, ['again', 'again', 'next'])
  })

  withStore(
    t,
    make,
    'gives runs their places in the order of acceptance',
    async (t, { runs, log, sessions }) => {
      const finish = async (runId: string) => log.append(runId, 1, [textEntry(1)], completed)
      const accept = async (ifFree = false) => {
        const run = storedRun()
        await runs.create(run)
        return { runId: run.runId, place: await sessions.place!(key, run.runId, ifFree) }
      }
      const [first, second, third] = [await accept(true), await accept(), await accept()]
      t.same(
        [first, second, third].map(({ place }) => place.position),
        [0, 1, 2]
      )
      t.same(
        [first, second, third].map(({ place }) => place.active),
        [undefined, first.runId, first.runId]
      )
      const refused = await accept(true)
      t.equal(refused.place.active, first.runId)
      refused.place.leave()
      const order: string[] = []
      const moved = Promise.withResolvers<TurnPlace>()
      const last = (async () => {
        const end = await sessions.lock(key, never, third.runId, (place) => {
          if (place.position === 1) moved.resolve(place)
        })
        order.push('third')
        end()
        await finish(third.runId)
      })()
      await finish(second.runId)
      second.place.leave()
      second.place.leave()
      t.same(await moved.promise, { position: 1, active: first.runId }, 'the line is shorter')
      const end = await sessions.lock(key, never, first.runId)
      order.push('first')
      end()
      await finish(first.runId)
      await last
      t.same(order, ['first', 'third'])
      const free = await accept(true)
      t.equal(free.place.position, 0, 'the turn is free again')
      await finish(free.runId)
      free.place.leave()
    }
  )

  withStore(t, make, 'keeps the places of runs that are suspended while they wait', async (t, stores) => {
    const { runs, log, sessions } = stores
    const ids = [storedRun(), storedRun(), storedRun(), storedRun()].map(({ runId }) => runId)
    const [first, second, third, fourth] = ids as [string, string, string, string]
    const place = async (runId: string) => sessions.place!(key, runId)
    const end = async (runId: string) => log.append(runId, 1, [textEntry(1)], completed)
    const suspension = new RUN_ERR_SUSPENDED()
    for (const runId of ids) await runs.create({ ...storedRun(), runId })
    const places = []
    for (const runId of ids.slice(0, 3)) places.push(await place(runId))
    const leave = await sessions.lock(key, never, first)
    const controller = new AbortController()
    const waiting = (async () => sessions.lock(key, controller.signal, second))()
    controller.abort(suspension)
    t.equal(await waiting.catch((err: unknown) => err), suspension)
    places[2]!.leave(true)
    t.equal((await place(fourth)).position, 3)
    t.same([(await place(third)).position, (await place(second)).position], [2, 1], 'as they were')
    const order: string[] = []
    const run = async (runId: string) => {
      const leave = await sessions.lock(key, never, runId)
      order.push(runId)
      leave()
      await end(runId)
    }
    const all = [fourth, third].map(run)
    leave()
    await end(first)
    await sessions.load(key, 1)
    t.same(order, [], 'a place is kept until its run has ended')
    await Promise.all([...all, run(second)])
    t.same(order, [second, third, fourth])
  })

  withStore(t, make, 'ends the turn of a suspended run with the run', async (t, { runs, log, sessions }) => {
    const run = storedRun()
    await runs.create(run)
    const suspend = await sessions.lock(key, never, `${run.runId}/member`)
    const next = (async () => sessions.lock(key, never))()
    suspend(true)
    await log.append(run.runId, 1, [textEntry(1)], completed)
    const release = await next
    release()
    t.same(await sessions.load(key, 1), [])
  })
}
