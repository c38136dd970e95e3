import { randomId, RUN_FORMAT, type InputOutcome, type StoredInput } from '@svc/contract'
import { boundedPageContract } from './bounded-page-contract.ts'
import { codeOf, HOSTILE_TEXT, withStore, type ContractTest, type MakeStore } from './contract-test.ts'
import { inputContract } from './input-contract.ts'
import { changedRunContract, runListContract } from './run-list-contract.ts'
import { completed, storedRun, textEntry, type RunStores, type TestStores } from './stored-run.ts'

/** The part of a `RunStore`'s contract about recorded steps. */
function recordedStepContract(test: TestStores): void {
  test('records a step once', async (t, { runs }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    t.equal(await runs.readStep(runId, 'a'), undefined)
    await runs.recordStep(runId, 1, 'a', { value: [1, null, '✓'] })
    await runs.recordStep(runId, 1, 'a', 'again')
    await runs.recordStep(runId, 1, '__proto__', undefined)
    t.same(await runs.readStep(runId, 'a'), { output: { value: [1, null, '✓'] } })
    t.same(await runs.readStep(runId, '__proto__'), { output: undefined })
    t.equal(await runs.readStep(runId, 'constructor'), undefined)
  })

  test('records steps with the parts they belong to', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    const steps = [
      { key: 'a', output: { value: ['✓'] } },
      { key: '__proto__', output: null }
    ]
    await log.append(runId, 1, [textEntry(1)], undefined, steps)
    await log.append(runId, 1, [textEntry(2)], undefined, [{ key: 'a', output: 'again' }])
    for (const { key, output } of steps) t.same(await runs.readStep(runId, key), { output })
    t.equal(
      await codeOf(() => log.append(runId, 2, [], undefined, [{ key: 'b', output: 1 }])),
      'RUN_ERR_FENCED'
    )
    t.equal(await runs.readStep(runId, 'b'), undefined)
    t.equal((await log.read(runId, 0, { entries: 9, bytes: 9_000 })).length, 2)
  })

  test('keeps no step of a run that has ended', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    await runs.recordStep(runId, 1, 'a', 'private')
    await log.append(runId, 1, [textEntry(1)], completed, [{ key: 'b', output: 'private' }])
    for (const key of ['a', 'b']) t.equal(await runs.readStep(runId, key), undefined)
  })
}

/** The part of a `RunStore`'s contract about announced removals, if it announces them. */
function removedRunContract(test: TestStores): void {
  test('announces the runs that it removes', async (t, { runs, log }) => {
    if (runs.onRemove === undefined) return
    const removed: string[] = []
    const stop = runs.onRemove((runIds) => void removed.push(...runIds))
    const stored = [storedRun(), storedRun(), storedRun(), storedRun()]
    for (const run of stored) await runs.create(run)
    const [open = '', first = '', second = '', third = ''] = stored.map(({ runId }) => runId)
    await runs.remove(first)
    t.same(removed, [first])
    for (const runId of [second, third]) await log.append(runId, 1, [textEntry(1)], completed)
    await runs.sweep(completed.at)
    t.same(removed, [first], 'a run that stays is not announced')
    await runs.sweep(Number.MAX_SAFE_INTEGER)
    t.same(removed.slice(1).toSorted(), [second, third].toSorted())
    stop()
    await runs.remove(open)
    t.equal(removed.length, 3)
  })
}

/** The part of a `RunStore`'s contract about texts from clients, models and tools, which must stay unchanged and distinct. */
function runTextContract(test: TestStores): void {
  test('keeps the texts of a record unchanged', async (t, { runs, log }) => {
    const run = storedRun({
      owner: HOSTILE_TEXT,
      sessionId: HOSTILE_TEXT,
      startKey: { key: HOSTILE_TEXT, hash: HOSTILE_TEXT }
    })
    const { runId } = run
    await runs.create(run)
    t.same(await runs.get(runId), run)
    t.same((await runs.create(storedRun({ owner: run.owner, startKey: run.startKey })))?.runId, runId)
    const input: StoredInput = {
      inputId: `${runId}.1`,
      kind: 'question',
      message: HOSTILE_TEXT,
      schema: { const: HOSTILE_TEXT },
      toolCallId: HOSTILE_TEXT,
      toolName: HOSTILE_TEXT,
      args: { [HOSTILE_TEXT]: HOSTILE_TEXT },
      source: [HOSTILE_TEXT],
      path: [HOSTILE_TEXT],
      expiresAt: 9_000,
      answer: null
    }
    await log.append(runId, 1, [textEntry(1, HOSTILE_TEXT)], { status: 'input-required', at: 2, input })
    const answer: InputOutcome = { action: 'decline', reason: HOSTILE_TEXT, content: { a: HOSTILE_TEXT } }
    t.equal(await runs.answerInput(runId, input.inputId, answer), true)
    await runs.recordStep(runId, 1, HOSTILE_TEXT, HOSTILE_TEXT)
    t.same(await runs.readStep(runId, HOSTILE_TEXT), { output: HOSTILE_TEXT })
    const result = { ...completed.result, text: HOSTILE_TEXT }
    const error = { code: 'RUN_ERR_X', message: HOSTILE_TEXT, retryable: false, statusCode: 500 }
    await log.append(runId, 1, [textEntry(2, '')], { status: 'failed', at: 3, result, error })
    t.same(await runs.get(runId), {
      ...run,
      status: 'failed',
      updatedAt: 3,
      result,
      error,
      inputs: [{ ...input, answer }]
    })
    const [entry] = await log.read(runId, 0, { entries: 1, bytes: 1 })
    t.same(entry?.part, { seq: 1, type: 'text', at: 2_000, text: HOSTILE_TEXT })
  })

  test('distinguishes texts that differ only in a null character', async (t, { runs }) => {
    const owners = ['ada', 'ada\u0000', 'ada\u0000eve', '\u0000', '']
    const ids = new Map<string, string>()
    for (const owner of owners) {
      const run = storedRun({ owner, startKey: { key: 'k', hash: 'h' } })
      ids.set(owner, run.runId)
      t.equal(await runs.create(run), undefined, JSON.stringify(owner))
    }
    const scope = { runnables: [{ registry: 'global', kind: 'agent', name: 'echo' } as const] }
    for (const [owner, runId] of ids) {
      const changed = await runs.listChanged({ owner, scope, limit: 9 })
      for (const page of [changed, await runs.list({ owner, limit: 9 })])
        t.same(
          page.runs.map((run) => [run.runId, run.owner]),
          [[runId, owner]]
        )
    }
  })
}

/** The contract of messages that are to join a run. */
function steerContract(test: TestStores): void {
  test('keeps a message that is to join a run, once and until the run is removed', async (t, {
    runs,
    log
  }) => {
    const [run, other] = [storedRun(), storedRun()]
    for (const each of [run, other]) await runs.create(each)
    const steer = {
      steerId: randomId(),
      runId: run.runId,
      hash: 'h',
      message: [{ type: 'text', text: 'a é' }]
    } as const
    t.equal(await runs.findSteer(steer.steerId), undefined)
    t.same(await runs.offerSteer(steer), steer)
    t.same(await runs.offerSteer({ ...steer, runId: other.runId, hash: null, message: 'b' }), steer)
    t.same(await runs.findSteer(steer.steerId), steer)
    await log.append(run.runId, 1, [textEntry(1)], completed)
    t.same(await runs.offerSteer(steer), steer, 'after the end, too')
    const late = { ...steer, steerId: randomId(), hash: null }
    t.equal(await runs.offerSteer(late), undefined)
    t.equal(await runs.offerSteer({ ...late, runId: 'missing' }), undefined)
    t.equal(await runs.findSteer(late.steerId), undefined)
    await runs.remove(run.runId)
    t.equal(await runs.findSteer(steer.steerId), undefined)
  })
}

const all = { entries: 1_000, bytes: 1_000_000 }
const working = { status: 'working', at: 2_000 } as const

function pick({ status, result }: typeof completed) {
  return { status, result }
}

/** The contract of every `RunStore` with its `StreamLog`. */
export function runStoreContract(t: ContractTest, make: MakeStore<RunStores>): void {
  const test = (name: string, run: (t: ContractTest, store: RunStores) => Promise<void>) =>
    withStore(t, make, name, run)

  test('keeps a record', async (t, { runs }) => {
    const run = storedRun()
    await runs.create(run)
    t.same(await runs.get(run.runId), run)
    t.equal(await runs.get('missing'), undefined)
    t.ok((await codeOf(() => runs.create(run))) !== 'none', 'an id can be used only once')
  })

  test('creates one run per start key', async (t, { runs, log }) => {
    const first = storedRun({ startKey: { key: 'k', hash: 'one' } })
    t.equal(await runs.create(first), undefined)
    const again = storedRun({ startKey: { key: 'k', hash: 'two' } })
    t.same(await runs.create(again), await runs.find(first.runId), 'returns the first run')
    t.equal(await runs.get(again.runId), undefined, 'the second run is not created')

    const others = [
      storedRun({ startKey: { key: 'other', hash: 'one' } }),
      storedRun({ startKey: { key: 'k', hash: 'one' }, owner: 'grace' }),
      storedRun({ startKey: { key: 'k', hash: 'one' }, registry: 'b' }),
      storedRun(),
      storedRun()
    ]
    t.equal(await runs.findStarted(others[0]!), undefined)
    for (const other of others) t.equal(await runs.create(other), undefined)
    t.same(await runs.findStarted(again), await runs.find(first.runId))
    t.same(await runs.findStarted(others[1]!), await runs.find(others[1]!.runId))
    t.equal(await runs.findStarted(others.at(-1)!), undefined, 'a run without a key is not found by it')
    await log.append(first.runId, 1, [textEntry(1)], completed)
    t.same(await runs.create(again), await runs.find(first.runId), 'also after the first run has ended')
    t.same(await runs.get(first.runId), { ...first, updatedAt: 3_000, ...pick(completed) })
    await runs.remove(first.runId)
    t.equal(await runs.create(again), undefined, 'removing the run frees its key')
  })

  test('frees the start keys of ended runs', async (t, { runs, log }) => {
    const first = storedRun({ startKey: { key: 'k', hash: 'h' } })
    const again = storedRun({ startKey: { key: 'k', hash: 'h' } })
    await runs.create(first)
    await runs.freeStartKey(first.runId)
    t.same((await runs.create(again))?.runId, first.runId, 'an unfinished run keeps its key')
    await log.append(first.runId, 1, [textEntry(1)], completed)
    await runs.freeStartKey('missing')
    await runs.freeStartKey(first.runId)
    await runs.freeStartKey(first.runId)
    t.equal((await runs.find(first.runId))?.startKey, null)
    t.equal(await runs.findStarted(first), undefined)
    t.equal(await runs.create(again), undefined)
    await runs.freeStartKey(first.runId)
    t.equal((await runs.findStarted(first))?.runId, again.runId, 'the run that has the key now keeps it')
    await runs.remove(first.runId)
    t.equal((await runs.findStarted(first))?.runId, again.runId)
  })

  test('concurrent starts with one key create one run', async (t, { runs }) => {
    const all = Array.from({ length: 20 }, () => storedRun({ startKey: { key: 'k', hash: 'h' } }))
    const earlier = await Promise.all(all.map(async (run) => runs.create(run)))
    const winners = all.filter((_, index) => earlier[index] === undefined)
    t.equal(winners.length, 1)
    t.ok(earlier.every((run) => run === undefined || run.runId === winners[0]!.runId))
  })

  test('returns snapshots', async (t, { runs, log }) => {
    const run = storedRun()
    await runs.create(run)
    const before = await runs.get(run.runId)
    await log.append(run.runId, 1, [textEntry(1)], working)
    t.equal(before?.status, 'submitted')
    t.equal(run.status, 'submitted', 'the stored argument is not modified')
    t.equal((await runs.get(run.runId))?.status, 'working')
  })

  test('writes parts and the change of the record atomically', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    await log.append(runId, 1, [textEntry(1)], working)
    await log.append(runId, 1, [textEntry(2), textEntry(3)])
    await log.append(runId, 1, [textEntry(4)], completed)
    const run = await runs.get(runId)
    t.equal(run?.status, 'completed')
    t.equal(run?.updatedAt, 3_000)
    t.same(run?.result, completed.result)
    t.same(
      (await log.read(runId, 0, all)).map(({ seq, part }) => [seq, part]),
      [1, 2, 3, 4].map((seq) => [seq, textEntry(seq).part])
    )
  })

  test('keeps the error of a failed run', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    const error = { code: 'RUN_ERR_X', message: 'ü', retryable: true, statusCode: 429, retryAfter: 7 }
    await log.append(runId, 1, [textEntry(1)], { status: 'failed', at: 2, error })
    t.same((await runs.get(runId))?.error, error)
  })

  test('reads from any position, up to the given limits', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    for (let seq = 1; seq <= 20; seq++) await log.append(runId, 1, [textEntry(seq)])
    const seqs = async (after: number, entries: number, bytes: number) =>
      (await log.read(runId, after, { entries, bytes })).map(({ seq }) => seq)
    t.same(await seqs(0, 3, 1e6), [1, 2, 3])
    t.same(await seqs(18, 9, 1e6), [19, 20])
    t.same(await seqs(20, 9, 1e6), [])
    t.same(await seqs(99, 9, 1e6), [])
    t.same(await seqs(4, 9, 1), [5], 'at least one entry, however large')
    const { length } = textEntry(1).json
    t.same(await seqs(0, 9, length * 2), [1, 2])
    t.same(await log.read('missing', 0, all), [])
  })

  test('reads large parts among small ones, up to the given limits', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    const entries = [1, 200_000, 1, 70_000, 1].map((size, index) => textEntry(index + 1, 'x'.repeat(size)))
    await log.append(runId, 1, entries)
    const read = async (after: number, bytes: number) =>
      (await log.read(runId, after, { entries: 9, bytes })).map(({ seq, json }) => [seq, json])
    const wanted = entries.map(({ seq, json }) => [seq, json])
    t.same(await read(0, 1e6), wanted)
    t.same(await read(0, 100_000), wanted.slice(0, 1))
    t.same(await read(1, 100_000), wanted.slice(1, 2), 'at least one entry, however large')
    t.same(await read(2, 100_000), wanted.slice(2))
    t.same(await read(2, 70_040), wanted.slice(2, 3))
  })

  test('keeps every text unchanged', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    const texts = ['', 'a\nb\r\n', '\u2028 ✓ 𝄞', '"quoted" \\', 'x'.repeat(300_000), "'; drop table run; --"]
    for (const [index, text] of texts.entries()) await log.append(runId, 1, [textEntry(index + 1, text)])
    const read: unknown[] = []
    for (let after = 0; after < texts.length; after++) {
      const [entry] = await log.read(runId, after, { entries: 1, bytes: 1 })
      read.push(entry?.part.type === 'text' && entry.part.text)
    }
    t.same(read, texts)
  })

  test('leaves runs of a later format to those that know it', async (t, { runs, log, lease }) => {
    const format = RUN_FORMAT + 1
    const { runId } = storedRun()
    await runs.create(storedRun({ runId, format }))
    t.equal((await runs.get(runId))?.format, format)
    t.equal((await runs.find(runId))?.format, format)
    await lease?.release(runId)
    t.equal(await runs.lease(runId), undefined)
    t.same((await runs.listLeft({ limit: 9 })).runs, [])
    await log.append(runId, 1, [textEntry(1)], completed)
    t.equal((await runs.get(runId))?.format, format)
  })

  test('refuses writes without the lease, and after the end', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    t.equal(await runs.lease(runId), 2)
    t.equal(await codeOf(() => log.append(runId, 1, [textEntry(1)], working)), 'RUN_ERR_FENCED')
    t.equal(await codeOf(() => runs.recordStep(runId, 1, 'step', 1)), 'RUN_ERR_FENCED')
    t.same(await log.read(runId, 0, all), [])
    await log.append(runId, 2, [textEntry(1)], completed)
    t.equal(await codeOf(() => log.append(runId, 2, [textEntry(2)])), 'RUN_ERR_FENCED')
    t.equal(await codeOf(() => runs.recordStep(runId, 2, 'step', 1)), 'RUN_ERR_FENCED')
    t.equal(await runs.lease(runId), undefined)
    t.equal(await runs.lease('missing'), undefined)
    t.equal(await codeOf(() => log.append('missing', 1, [textEntry(1)])), 'RUN_ERR_FENCED')
  })

  test('keeps the wish to cancel a run until it ends', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    t.equal((await runs.find(runId))?.cancelRequested, false)
    t.equal(await runs.requestCancel(runId), true)
    t.equal(await runs.requestCancel(runId), true)
    t.equal((await runs.find(runId))?.cancelRequested, true)
    await runs.lease(runId)
    const { epoch, status, cancelRequested } = (await runs.get(runId))!
    t.same({ epoch, status, cancelRequested }, { epoch: 2, status: 'submitted', cancelRequested: true })
    await log.append(runId, 2, [textEntry(1)], completed)
    t.equal(await runs.requestCancel(runId), false)
    t.equal(await runs.requestCancel('missing'), false)
  })

  test('keeps how a run leaves its turn as the first cancel says', async (t, { runs }) => {
    const [run, other] = [storedRun(), storedRun()]
    const leftTurn = { owner: 'alice/é', keep: true }
    for (const each of [run, other]) await runs.create(each)
    t.equal((await runs.find(run.runId))?.leftTurn, null)
    await runs.requestCancel(run.runId, leftTurn)
    await runs.requestCancel(run.runId, { owner: 'alice/é', keep: false })
    await runs.requestCancel(run.runId)
    t.same((await runs.find(run.runId))?.leftTurn, leftTurn)
    t.same((await runs.get(run.runId))?.leftTurn, leftTurn)
    await runs.requestCancel(other.runId)
    await runs.requestCancel(other.runId, leftTurn)
    t.equal((await runs.find(other.runId))?.leftTurn, null)
  })

  test('a refused append does not affect others', async (t, { runs, log }) => {
    const good = storedRun()
    await runs.create(good)
    const [refused] = await Promise.allSettled([
      (async () => log.append('missing', 1, [textEntry(1)]))(),
      (async () => log.append(good.runId, 1, [textEntry(1)]))()
    ])
    t.equal(refused?.status, 'rejected')
    t.equal((await log.read(good.runId, 0, all)).length, 1)
  })

  test('a failed write does not affect others or their order', async (t, { runs, log }) => {
    const [known, good, fresh] = [storedRun(), storedRun(), storedRun()]
    await runs.create(known)
    await runs.create(good)
    const settled = await Promise.allSettled([
      (async () => log.append(good.runId, 1, [textEntry(1)], working))(),
      (async () => runs.create(known))(),
      (async () => runs.create(fresh))(),
      (async () => log.append(fresh.runId, 1, [textEntry(1)]))()
    ])
    t.same(
      settled.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'fulfilled']
    )
    t.equal((await runs.get(good.runId))?.status, 'working')
    for (const { runId } of [good, fresh]) t.equal((await log.read(runId, 0, all)).length, 1)
    t.same(await runs.get(known.runId), known)
  })

  test('reads what is committed', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    const read = async (after: number) => {
      const entries = await (log.readCommitted ?? log.read)(runId, after, all)
      return entries.map(({ seq }) => seq)
    }
    t.same(await read(0), [])
    await log.append(runId, 1, [textEntry(1), textEntry(2)])
    t.same(await read(0), [1, 2])
    t.same(await read(1), [2])
    t.same(await read(2), [])
  })

  test('notifies followers', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    let notified = 0
    const unfollow = log.follow(runId, () => notified++)
    await log.append(runId, 1, [textEntry(1)])
    await log.append(runId, 1, [textEntry(2)])
    t.ok(notified >= 2)
    unfollow()
    const before = notified
    await log.append(runId, 1, [textEntry(3)])
    t.equal(notified, before)
  })

  test('notifies followers of a removed or missing log', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    const gone = Promise.withResolvers<void>()
    log.follow(runId, (isGone) => void (isGone && gone.resolve()))
    await runs.remove(runId)
    await gone.promise
    const unknown = Promise.withResolvers<void>()
    log.follow('missing', (isGone) => void (isGone && unknown.resolve()))
    await unknown.promise
    t.equal(await runs.get(runId), undefined)
    t.same(await log.read(runId, 0, all), [])
  })

  test('notifies followers of an abandoned log, and keeps the log', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    await log.append(runId, 1, [textEntry(1)])
    let notified = 0
    const unfollow = log.follow(runId, (isGone) => void (isGone && notified++))
    log.abandon(runId)
    t.equal(notified, 1)
    unfollow()
    log.abandon(runId)
    log.abandon('missing')
    t.equal(notified, 1)
    t.equal((await log.read(runId, 0, all)).length, 1)
  })

  test('sweeps ended runs only', async (t, { runs, log }) => {
    const [open, ended] = [storedRun(), storedRun()]
    await runs.create(open)
    await runs.create(ended)
    await log.append(ended.runId, 1, [textEntry(1)], completed)
    t.equal(await runs.sweep(completed.at), 0)
    t.equal(await runs.sweep(Number.MAX_SAFE_INTEGER), 1)
    t.equal(await runs.get(ended.runId), undefined)
    t.ok(await runs.get(open.runId))
  })

  inputContract(test)
  steerContract(test)
  runTextContract(test)
  recordedStepContract(test)
  runListContract(test)
  boundedPageContract(test)
  changedRunContract(test)
  removedRunContract(test)
}
