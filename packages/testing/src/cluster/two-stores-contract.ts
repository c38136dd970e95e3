import type {
  ControlMessage,
  SessionKey,
  SessionMessage,
  StoredInput,
  Stores,
  TaskStore
} from '@svc/contract'
import { codeOf, withStore, type ContractTest, type MakeStore } from '../contract-test.ts'
import { completed, storedRun, storedTask, textEntry } from '../stored-run.ts'
import { leftRunContract, startRun, type TestTwoStores, type TwoStores } from './left-run-contract.ts'

const all = { entries: 1_000, bytes: 1_000_000 }

/** The part of the contract about runs that one node has and others read, answer and cancel. */
function sharedRunContract(test: TestTwoStores): void {
  test('a read on another node sees every acknowledged append', async (t, { first, second }) => {
    const run = storedRun()
    await first.runs.create(run)
    const unfollow = second.log.follow(run.runId, () => {})
    let missed = 0
    for (let seq = 1; seq <= 100; seq++) {
      await first.log.append(run.runId, 1, [textEntry(seq)])
      const [read] = await second.log.read(run.runId, seq - 1, all)
      if (read?.seq !== seq) missed++
    }
    unfollow()
    t.equal(missed, 0)
    t.equal((await second.log.read(run.runId, 0, all)).length, 100)
  })

  test('a follower on another node is woken until it has read everything', async (t, { first, second }) => {
    const run = storedRun()
    await first.runs.create(run)
    const read: number[] = []
    const reading = (async () => {
      for (let news = Promise.withResolvers<void>(), last = 0; last < 20; news = Promise.withResolvers()) {
        const unfollow = second.log.follow(run.runId, () => news.resolve())
        for (const { seq } of await second.log.read(run.runId, last, all)) read.push((last = seq))
        if (last < 20) await news.promise
        unfollow()
      }
    })()
    for (let seq = 1; seq <= 20; seq++) await first.log.append(run.runId, 1, [textEntry(seq)])
    await reading
    t.same(
      read,
      Array.from({ length: 20 }, (_, index) => index + 1)
    )
  })

  test('a follower on another node learns that the log is gone', async (t, { first, second }) => {
    const run = storedRun()
    await first.runs.create(run)
    await first.log.append(run.runId, 1, [textEntry(1)], completed)
    const gone = Promise.withResolvers<void>()
    const unfollow = second.log.follow(run.runId, (isGone) => void (isGone && gone.resolve()))
    await first.runs.remove(run.runId)
    await gone.promise
    unfollow()
    t.equal(await second.runs.get(run.runId), undefined)
  })

  test('starts with one key on both nodes create one run', async (t, { first, second }) => {
    const starts = Array.from({ length: 20 }, () => storedRun({ startKey: { key: 'k', hash: 'h' } }))
    const earlier = await Promise.all(
      starts.map(async (run, index) => (index % 2 === 0 ? first : second).runs.create(run))
    )
    const winners = starts.filter((_, index) => earlier[index] === undefined)
    t.equal(winners.length, 1)
    t.ok(earlier.every((run) => run === undefined || run.runId === winners[0]!.runId))
  })

  test('counts the unfinished runs of an owner on both nodes', async (t, { first, second }) => {
    const [one, other] = [storedRun(), storedRun()]
    await first.runs.create(one, 2)
    await second.runs.create(other, 2)
    for (const { runs } of [first, second])
      t.equal(await codeOf(() => runs.create(storedRun(), 2)), 'RUN_ERR_TOO_MANY_RUNS')
    t.equal(await first.runs.create(storedRun({ owner: 'grace' }), 2), undefined, 'another owner')
    await first.log.append(one.runId, 1, [textEntry(1)], completed)
    t.equal(await second.runs.create(storedRun(), 2), undefined)
    const key = { key: 'k', hash: 'h' }
    const keyed = storedRun({ startKey: key })
    t.equal(await second.runs.create(keyed, 3), undefined)
    t.equal((await first.runs.create(storedRun({ startKey: key }), 1))?.runId, keyed.runId, 'a replay')
  })

  test('one of two answers counts, whichever node takes it', async (t, { first, second }) => {
    for (let round = 0; round < 10; round++) {
      const run = storedRun()
      await first.runs.create(run)
      const input = pendingInput(`${run.runId}.1`)
      await first.log.append(run.runId, 1, [textEntry(1)], { status: 'input-required', at: 2, input })
      const answers = [first, second].map(async ({ runs }, index) =>
        runs.answerInput(run.runId, input.inputId, { action: 'accept', content: index })
      )
      const counted = await Promise.all(answers)
      t.equal(counted.filter(Boolean).length, 1)
      const answer = { action: 'accept', content: counted.indexOf(true) }
      for (const { runs } of [first, second]) t.same((await runs.get(run.runId))?.inputs[0]?.answer, answer)
    }
  })

  test('control messages reach both nodes', async (t, { first, second }) => {
    const run = storedRun()
    await first.runs.create(run)
    const input = pendingInput(`${run.runId}.1`)
    await first.log.append(run.runId, 1, [textEntry(1)], { status: 'input-required', at: 2, input })
    const answer = { action: 'accept', content: { text: 'x'.repeat(20_000) } } as const
    await second.runs.answerInput(run.runId, input.inputId, answer)
    await second.runs.requestCancel(run.runId)
    const messages: ControlMessage[] = [
      { type: 'watch', runId: run.runId, watcher: 'a-socket_1' },
      { type: 'steer', runId: run.runId, steerId: 'a-steer_1' },
      { type: 'watch', runId: run.runId, watcher: 'a-socket_1', left: true },
      { type: 'input', runId: run.runId, inputId: input.inputId, answer },
      { type: 'cancel', runId: run.runId }
    ]
    for (const message of messages) {
      const received = Promise.withResolvers<ControlMessage>()
      const unsubscribe = first.control.subscribe((each) => {
        if (each.type === message.type && each.runId === run.runId) received.resolve(each)
      })
      await second.control.publish(message)
      t.same(await received.promise, message)
      unsubscribe()
    }
  })

  test('two sweeps at once remove each run once', async (t, { first, second }) => {
    const over = Array.from({ length: 10 }, () => storedRun())
    for (const run of over) {
      await first.runs.create(run)
      await first.log.append(run.runId, 1, [textEntry(1)], completed)
    }
    const both = [first, second].map(async ({ runs }) => runs.sweep(Number.MAX_SAFE_INTEGER))
    const [one = 0, other = 0] = await Promise.all(both)
    // A sweep on another node may be the reason that one does nothing.
    const rest = await first.runs.sweep(Number.MAX_SAFE_INTEGER)
    t.equal(one + other + rest, over.length)
  })
}

function pendingInput(inputId: string): StoredInput {
  return {
    inputId,
    kind: 'question',
    message: 'Which one?',
    source: [],
    path: [],
    expiresAt: Date.now() + 60_000,
    answer: null
  }
}

const key: SessionKey = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' }
const never = new AbortController().signal
const message = (content: string): SessionMessage => ({ role: 'user', content })

/** The part of the contract about sessions whose turns are on several nodes. */
function sharedSessionContract(test: TestTwoStores): void {
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
    await first.log.append(accepted, 1, [textEntry(1)], completed)
    leave.leave()
    await placed
    await first.log.append(early, 1, [textEntry(1)], completed)
    await waiting
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

const config = { id: 'p', url: 'https://example.org', endpoint: '/a' }
const claim = async ({ claimPushes }: TaskStore) => claimPushes({ endpoint: '/a', maxTasks: 9 })

/** The part of the contract about A2A tasks that several nodes serve. */
function sharedTaskContract(test: TestTwoStores): void {
  test('a message that both nodes receive is of one task', async (t, { first, second }) => {
    const each = Array.from({ length: 20 }, (_, index) => index)
    const nodeOf = (index: number) => (index % 2 === 0 ? first.tasks : second.tasks)
    const created = await Promise.all(
      each.map(async (index) => nodeOf(index).create(storedTask(`t${index}`), 'm'))
    )
    t.equal(new Set(created).size, 1)
    const [taskId = ''] = created
    const added = await Promise.all(
      each.map(async (index) => nodeOf(index).addMessage(taskId, 'next', { index }))
    )
    t.equal(added.filter(Boolean).length, 1)
    t.equal((await second.tasks.get(taskId))?.messages.length, 2)
  })

  test('a task has at most so many push configurations, whichever nodes add them', async (t, {
    first,
    second
  }) => {
    await first.tasks.create(storedTask('a'), 'm')
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, async (_, index) =>
        (index % 2 === 0 ? first : second).tasks.setPushConfig('a', { ...config, id: `${index}` }, 0, 5)
      )
    )
    t.equal(outcomes.filter((outcome) => outcome === 'stored').length, 5)
    t.equal(await second.tasks.countOpenPushes('ada'), 5)
  })

  test('one node delivers the notifications of a push configuration', async (t, { first, second }) => {
    await first.tasks.create(storedTask('a'), 'm')
    await first.tasks.setPushConfig('a', config, 1)
    t.same(await claim(second.tasks), [], 'the node that set it delivers')
    t.equal(await second.tasks.recordPush('a', 'p', 2), false)
    t.equal(await first.tasks.recordPush('a', 'p', 3), true)
    await second.tasks.setPushConfig('a', config, 4)
    t.equal(await first.tasks.holdsPush('a', 'p'), false, 'another node replaced it')
    t.equal(await first.tasks.recordPush('a', 'p', 5), false)
    t.equal(await second.tasks.holdsPush('a', 'p'), true)
    await first.tasks.removePushConfig('a', 'p')
    t.equal(await second.tasks.holdsPush('a', 'p'), false, 'another node removed it')
  })

  test('the notifications of a dead node are claimed by one other', async (t, {
    first,
    second,
    declareDead
  }) => {
    await first.tasks.create(storedTask('a'), 'm')
    await first.tasks.setPushConfig('a', config, 1)
    await first.tasks.recordPush('a', 'p', 7)
    await declareDead()
    t.same(await claim(second.tasks), [{ taskId: 'a', config, pushed: 7 }])
    t.same(await claim(second.tasks), [])
    t.equal(await first.tasks.holdsPush('a', 'p'), false)
    t.equal(await first.tasks.recordPush('a', 'p', 8), false)
    t.equal(await second.tasks.recordPush('a', 'p', 9), true)
    await second.tasks.releasePushes('/a')
    t.same(await claim(second.tasks), [{ taskId: 'a', config, pushed: 9 }], 'a node may give it up')
  })
}

/**
 * The contract of `Stores` that several processes share: each sees at once what another has written, no run is lost with its process,
 * and a process that was declared dead writes nothing. Each port on its own has a contract too.
 */
export function twoStoresContract(t: ContractTest, make: MakeStore<TwoStores>): void {
  const test: TestTwoStores = (name, run) => withStore(t, make, name, run)
  sharedRunContract(test)
  leftRunContract(test)
  sharedSessionContract(test)
  sharedTaskContract(test)
}
