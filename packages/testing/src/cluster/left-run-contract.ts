import type { NodeLease, RunStore, Stores } from '@svc/contract'
import { codeOf, type ContractTest } from '../contract-test.ts'
import { completed, storedRun, textEntry } from '../stored-run.ts'

const never = new AbortController().signal

/** The part of the contract about runs that a node leaves, and what it can still write. */
export function leftRunContract(test: TestTwoStores): void {
  test('a living node keeps its runs', async (t, { first, second }) => {
    const run = storedRun()
    await first.runs.create(run)
    t.equal(first.lease.held, true)
    t.equal(await second.runs.lease(run.runId), undefined)
    t.same(await leftOf(second.runs), [])
    t.equal(await first.runs.lease(run.runId), 2, 'its own node may lease it again')
  })

  test('the runs of a dead node are left, for one node to take', async (t, {
    first,
    second,
    declareDead
  }) => {
    const [mine, others, ended] = [storedRun(), storedRun(), storedRun()]
    for (const run of [mine, ended]) await first.runs.create(run)
    await second.runs.create(others)
    await first.log.append(ended.runId, 1, [textEntry(1)], completed)
    await first.log.append(mine.runId, 1, [textEntry(1)])
    const left = whenLeft(second.lease)
    await declareDead()
    await left
    t.same(await leftOf(second.runs), [mine.runId])
    const leases = await Promise.all([1, 2, 3].map(async () => second.runs.lease(mine.runId)))
    t.equal(leases.filter((epoch) => epoch !== undefined).length, 3, 'a node may lease its own run again')
    t.same(await leftOf(second.runs), [])
    t.equal((await second.runs.get(mine.runId))?.epoch, 4)
  })

  test('a page of left runs has the sizes of their checkpoints, or none', async (t, stores) => {
    const { first, second, declareDead } = stores
    const [one, other] = [storedRun(), storedRun()]
    for (const run of [one, other]) await first.runs.create(run)
    await first.checkpoints.save(one.runId, 1, { at: 'ä' })
    await declareDead()
    const { runs } = await second.runs.listLeft({ limit: 9 })
    t.equal(runs.length, 2)
    for (const { runId, checkpointBytes } of runs)
      if (checkpointBytes !== undefined)
        t.equal(checkpointBytes, (await second.checkpoints.size(runId)) ?? null)
  })

  test('a node whose run was taken writes nothing', async (t, { first, second, declareDead }) => {
    const run = storedRun()
    const key = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' } as const
    await first.runs.create(run)
    await first.log.append(run.runId, 1, [textEntry(1)])
    await first.checkpoints.save(run.runId, 1, { at: 'first' })
    await declareDead()
    t.equal(await second.runs.lease(run.runId), 2)
    await second.checkpoints.save(run.runId, 2, { at: 'second' })
    const late: [string, () => unknown][] = [
      ['append', () => first.log.append(run.runId, 1, [textEntry(2)])],
      ['end', () => first.log.append(run.runId, 1, [textEntry(2)], completed)],
      ['step', () => first.runs.recordStep(run.runId, 1, 'step', 1)],
      ['checkpoint', () => first.checkpoints.save(run.runId, 1, { at: 'late' })],
      ['turn', () => first.sessions.append(key, 'late', [], { runId: run.runId, epoch: 1 })]
    ]
    for (const [name, write] of late) t.equal(await codeOf(write), 'RUN_ERR_FENCED', name)
    t.equal(await second.runs.readStep(run.runId, 'step'), undefined)
    t.same((await second.checkpoints.load(run.runId))?.state, { at: 'second' })
    await second.log.append(run.runId, 2, [textEntry(2)])
    t.equal((await first.log.read(run.runId, 0, { entries: 9, bytes: 1e6 })).length, 2, 'but it reads')
  })

  test('a node that was declared dead learns it, and joins again', async (t, {
    first,
    second,
    declareDead
  }) => {
    const [left, fresh] = [storedRun(), storedRun()]
    await first.runs.create(left)
    let isDone = false
    const lost = Promise.withResolvers<void>()
    const unsubscribe = first.lease.onLost(async () => {
      await first.runs.find(left.runId)
      isDone = true
      lost.resolve()
    })
    await declareDead()
    await lost.promise
    unsubscribe()
    await first.lease.whenHeld(never)
    t.ok(isDone, 'its listener is done before')
    await first.runs.create(fresh)
    t.same(await leftOf(second.runs), [left.runId], 'what it starts now is its own')
    t.equal(await first.runs.lease(left.runId), 2, 'it may take its earlier runs as any node may')
    t.same(await leftOf(second.runs), [])
  })

  test('a node releases a run', async (t, { first, second }) => {
    const [released, kept] = [storedRun(), storedRun()]
    for (const run of [released, kept]) await first.runs.create(run)
    const left = whenLeft(second.lease)
    await first.lease.release(released.runId)
    await left
    t.same(await leftOf(second.runs), [released.runId])
    t.equal(await second.runs.lease(released.runId), 2)
    await first.lease.release(released.runId)
    t.same(await leftOf(second.runs), [], 'the run of another node cannot be released')
  })

  test('a node that leaves leaves all runs at once', async (t, { first, second }) => {
    const runs = [storedRun(), storedRun()]
    for (const run of runs) await first.runs.create(run)
    const left = whenLeft(second.lease)
    await first.lease.leave()
    await first.lease.leave()
    await left
    t.equal(first.lease.held, false)
    t.same(await leftOf(second.runs), runs.map(({ runId }) => runId).toSorted())
  })

  test('a wait for a lease ends with its signal', async (t, { first }) => {
    await first.lease.leave()
    const controller = new AbortController()
    const reason = new Error('aborted')
    const waiting = (async () => first.lease.whenHeld(controller.signal))()
    controller.abort(reason)
    t.equal(await waiting.catch((err: unknown) => err), reason)
    t.equal(
      await (async () => first.lease.whenHeld(controller.signal))().catch((err: unknown) => err),
      reason
    )
  })

  test('the wish to cancel a run outlives its node', async (t, { first, second, declareDead }) => {
    const run = storedRun()
    await first.runs.create(run)
    t.equal(await second.runs.requestCancel(run.runId), true)
    await declareDead()
    const page = await second.runs.listLeft({ limit: 9 })
    t.equal(page.runs.find(({ runId }) => runId === run.runId)?.cancelRequested, true)
  })
}

// Resolves at the next report that a node has left or released a run.
function whenLeft(lease: NodeLease): Promise<void> {
  return new Promise((resolve) => {
    const unsubscribe = lease.onLeft(() => {
      unsubscribe()
      resolve()
    })
  })
}

async function leftOf(runs: RunStore): Promise<string[]> {
  return (await runs.listLeft({ limit: 100 })).runs.map(({ runId }) => runId).toSorted()
}

/** The stores of a node of a service. */
export type NodeStores = Stores & { readonly lease: NodeLease }

/** The stores of two nodes on one database. */
export interface TwoStores {
  readonly first: NodeStores
  readonly second: NodeStores
  /** Declares the node of `first` dead, as if it had not been seen for the time of its lease. It finds out by itself. */
  declareDead(): Promise<void>
}

/** Adds one test of the contract, with the stores of two new nodes. */
export type TestTwoStores = (name: string, run: (t: ContractTest, stores: TwoStores) => Promise<void>) => void

/** Creates a run of a node, and returns its id. */
export async function startRun({ runs }: NodeStores): Promise<string> {
  const run = storedRun()
  await runs.create(run)
  return run.runId
}
