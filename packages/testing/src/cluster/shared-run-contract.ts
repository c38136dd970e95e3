import type { ControlMessage, StoredInput } from '@svc/contract'
import { codeOf } from '../contract-test.ts'
import { completed, storedRun, textEntry } from '../stored-run.ts'
import type { TestTwoStores } from './two-stores.ts'

const all = { entries: 1_000, bytes: 1_000_000 }

/** The part of the contract about runs that one node has and others read, answer and cancel. */
export function sharedRunContract(test: TestTwoStores): void {
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
