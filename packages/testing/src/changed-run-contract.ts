import type { ChangedRunQuery, RunStore, RunSummary, StoredRun } from '@svc/contract'
import { codeOf } from './contract-test.ts'
import { inputOf } from './input-contract.ts'
import { completed, storedRun, textEntry, type TestStores } from './stored-run.ts'

type Filter = Partial<ChangedRunQuery>

const echo = { registry: 'global', kind: 'agent', name: 'echo' } as const
const adas = { owner: 'ada', scope: { runnables: [echo] }, limit: 9 }

const idsOf = (all: readonly Pick<RunSummary, 'runId'>[]) => all.map(({ runId }) => runId)
const lastChangedFirst = (all: readonly StoredRun[]) =>
  all.toSorted((a, b) => b.updatedAt - a.updatedAt || (a.runId < b.runId ? 1 : -1))

async function find(runs: RunStore, filter: Filter = {}): Promise<string[]> {
  return idsOf((await runs.listChanged({ ...adas, ...filter })).runs)
}

async function createAll(runs: RunStore, all: readonly StoredRun[]): Promise<void> {
  for (const run of all) await runs.create(run)
}

/** The part of a `RunStore`'s contract about an owner's runs in the order of their last change. */
export function changedRunContract(test: TestStores): void {
  test('lists the last changed run first, in pages without gaps', async (t, { runs }) => {
    // Three at a time changed in the same millisecond, regardless of creation order.
    const made = Array.from({ length: 25 }, (_, index) =>
      storedRun({ createdAt: 5_000 - index, updatedAt: 6_000 + Math.floor(((index * 7) % 25) / 3) })
    )
    await createAll(runs, made)
    const found: string[] = []
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await runs.listChanged({ ...adas, limit: 7, ...(cursor !== undefined && { cursor }) })
      t.equal(page.total, 25, 'each page has the total')
      found.push(...idsOf(page.runs))
      cursor = page.nextCursor
    }
    t.same(found, idsOf(lastChangedFirst(made)))
    t.equal(
      (await runs.listChanged({ ...adas, limit: 25 })).nextCursor,
      null,
      'no cursor after a full last page'
    )
    t.same(await runs.listChanged({ ...adas, owner: 'bob' }), { runs: [], nextCursor: null, total: 0 })
  })

  test('a change moves a run to the front', async (t, { runs, log }) => {
    const [first, second, third] = [1_000, 1_001, 1_002].map((updatedAt) => storedRun({ updatedAt }))
    await createAll(runs, [first!, second!, third!])
    t.same(await find(runs), idsOf([third!, second!, first!]))
    await log.append(first!.runId, 1, [textEntry(1)], { status: 'working', at: 2_000 })
    t.same(await find(runs), idsOf([first!, third!, second!]))
    await log.append(second!.runId, 1, [textEntry(1)], completed)
    const { runs: found } = await runs.listChanged(adas)
    t.same(idsOf(found), idsOf([second!, first!, third!]))
    t.same(found[0], await runs.find(second!.runId), 'with its current state')
    await runs.remove(first!.runId)
    t.same(await find(runs), idsOf([second!, third!]))
  })

  test('a run that changes between two pages is on no later page, and others are not lost', async (t, store) => {
    const { runs, log } = store
    const made = [0, 1, 2, 3, 4, 5].map((index) => storedRun({ updatedAt: 1_000 - index }))
    await createAll(runs, made)
    const first = await runs.listChanged({ ...adas, limit: 2 })
    t.same(idsOf(first.runs), idsOf(made.slice(0, 2)))
    const change = { status: 'working', at: 2_000 } as const
    // The last run of the page, one of the next page, and a new one.
    for (const index of [1, 3]) await log.append(made[index]!.runId, 1, [textEntry(1)], change)
    await runs.create(storedRun({ updatedAt: 2_001 }))
    const second = await runs.listChanged({ ...adas, limit: 2, cursor: first.nextCursor! })
    t.same(idsOf(second.runs), idsOf([made[2]!, made[4]!]))
    t.equal(second.total, 7)
    await runs.remove(made[4]!.runId)
    t.same(
      await find(runs, { cursor: second.nextCursor! }),
      [made[5]!.runId],
      'even if the run of the cursor is removed'
    )
  })

  test('filters by the code of an error, and by what runs wait for', async (t, { runs, log }) => {
    const code = 'RUN_ERR_REJECTED'
    const error = { code, message: 'no', retryable: false, statusCode: 422 }
    const codes = [code, 'RUN_ERR_FAILED', 'RUN-ERR-REJECTED', 'RUN_ERR_REJECTED_2']
    const failed = codes.map((each, index) => ({
      ...storedRun({ updatedAt: 1_000 + index }),
      error: { ...error, code: each, message: `"code":"${code}"` }
    }))
    const waiting = (['auth', 'question', undefined] as const).map((kind, index) => ({
      ...storedRun({ updatedAt: 2_000 + index }),
      kinds: kind === undefined ? (['question', 'auth'] as const) : [kind]
    }))
    for (const { error: how, ...run } of failed) {
      await runs.create({ ...run, error: null })
      await log.append(run.runId, 1, [textEntry(1)], { status: 'failed', at: run.updatedAt, error: how })
    }
    for (const { kinds, ...run } of waiting) {
      await runs.create(run)
      for (const [index, kind] of kinds.entries()) {
        const input = { ...inputOf(`${run.runId}.${index + 1}`), kind }
        const change = { status: 'input-required', at: run.updatedAt, input } as const
        await log.append(run.runId, 1, [textEntry(index + 1)], change)
      }
    }
    const status = 'failed'
    t.same(await find(runs, { status, errorCode: { is: code } }), [failed[0]!.runId])
    t.same(
      await find(runs, { status, errorCode: { isNot: code } }),
      idsOf([failed[3]!, failed[2]!, failed[1]!])
    )
    const [auth, question, both] = [waiting[0]!, waiting[1]!, waiting[2]!]
    const waits = { status: 'input-required' } as const
    t.same(await find(runs, { ...waits, inputKind: { is: 'auth' } }), idsOf([both, auth]))
    t.same(await find(runs, { ...waits, inputKind: { isNot: 'auth' } }), idsOf([question]))
    const page = await runs.listChanged({ ...adas, inputKind: { isNot: 'auth' } })
    t.equal(page.total, 5, 'runs that wait for nothing included')
    await runs.answerInput(both.runId, `${both.runId}.2`, { action: 'decline' })
    t.same(await find(runs, { ...waits, inputKind: { is: 'auth' } }), idsOf([auth]))
  })

  test('filters by session, status, age and runnable, separately and combined', async (t, { runs, log }) => {
    const made = Array.from({ length: 32 }, (_, index) =>
      storedRun({
        sessionId: index & 1 ? 'one' : 'other',
        name: index & 2 ? 'echo' : 'shout',
        kind: index & 4 ? 'agent' : 'team',
        updatedAt: 1_000 + index
      })
    )
    await createAll(runs, made)
    for (const [index, { runId }] of made.entries())
      if (index & 8) await log.append(runId, 1, [textEntry(1)], { status: 'canceled', at: 2_000 + index })
    const all = await Promise.all(made.map(async ({ runId }) => (await runs.get(runId))!))

    for (let filters = 0; filters < 8; filters++) {
      for (const runnables of [[echo], [echo, { ...echo, kind: 'team', name: 'shout' } as const], []]) {
        const query = {
          ...{ owner: 'ada', scope: { runnables }, limit: 100 },
          ...(filters & 1 && { sessionId: 'one' }),
          ...(filters & 2 && { status: 'canceled' as const }),
          ...(filters & 4 && { since: 2_015 })
        }
        const wanted = lastChangedFirst(all).filter(
          (run) =>
            (!(filters & 1) || run.sessionId === 'one') &&
            (!(filters & 2) || run.status === 'canceled') &&
            (!(filters & 4) || run.updatedAt >= 2_015) &&
            runnables.some(({ kind, name }) => run.kind === kind && run.name === name)
        )
        const page = await runs.listChanged(query)
        t.same(idsOf(page.runs), idsOf(wanted), JSON.stringify(query))
        t.equal(page.total, wanted.length)
      }
    }
  })

  test('shows owners only their own runs', async (t, { runs }) => {
    const owners = ['ada', 'bob', 'Ada', 'ad', '']
    const made = Array.from({ length: 15 }, (_, index) =>
      storedRun({ owner: owners[index % 5]!, updatedAt: 1_000 + index })
    )
    await createAll(runs, made)
    for (const owner of owners) {
      const wanted = idsOf(lastChangedFirst(made.filter((run) => run.owner === owner)))
      const first = await runs.listChanged({ ...adas, owner, limit: 2 })
      t.equal(first.total, 3)
      const rest = await find(runs, { owner, cursor: first.nextCursor! })
      t.same([...idsOf(first.runs), ...rest], wanted, owner)
    }
    const { nextCursor } = await runs.listChanged({ ...adas, limit: 1 })
    const foreign = await find(runs, { owner: 'bob', cursor: nextCursor! })
    t.ok(
      foreign.every((id) => made.find(({ runId }) => runId === id)?.owner === 'bob'),
      'even with the cursor of another owner'
    )
  })

  test('returns changed runs as snapshots', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    const { runs: before } = await runs.listChanged(adas)
    await log.append(runId, 1, [textEntry(1)], completed)
    t.equal(before[0]?.status, 'submitted')
  })

  test('refuses an invalid cursor of changed runs', async (t, { runs }) => {
    for (const cursor of ['', 'x', '1', '1.', '.a', "1.' or 1=1", `${'9'.repeat(30)}.a`])
      t.equal(await codeOf(() => runs.listChanged({ ...adas, cursor })), 'REG_ERR_BAD_CURSOR', cursor)
  })
}
