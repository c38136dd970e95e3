import {
  defined,
  RUNNABLE_KINDS,
  type ChangedRunQuery,
  type RunQuery,
  type RunScope,
  type RunStore,
  type RunSummary,
  type StoredRun
} from '@svc/contract'
import { codeOf } from './contract-test.ts'
import { inputOf } from './input-contract.ts'
import { completed, storedRun, textEntry, type TestStores } from './stored-run.ts'

/** The part of a `RunStore`'s contract about lists. */
export function runListContract(test: TestStores): void {
  test('lists the newest run first, in pages without gaps', async (t, { runs }) => {
    const made: StoredRun[] = []
    for (let index = 0; index < 25; index++) {
      // Three at a time were created in the same millisecond.
      const run = storedRun({
        createdAt: 1_000 + Math.floor(index / 3),
        owner: index % 5 === 0 ? 'bob' : 'ada'
      })
      made.push(run)
      await runs.create(run)
    }
    const wanted = made
      .filter(({ owner }) => owner === 'ada')
      .sort((a, b) => b.createdAt - a.createdAt || (a.runId < b.runId ? 1 : -1))
    const idsOf = async (order: RunQuery['order']) => {
      const found: string[] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await runs.list({
          owner: 'ada',
          limit: 7,
          ...defined({ order, cursor })
        })
        found.push(...page.runs.map(({ runId }) => runId))
        cursor = page.nextCursor
      }
      return found
    }
    const ids = wanted.map(({ runId }) => runId)
    t.same(await idsOf(undefined), ids)
    t.same(await idsOf('desc'), ids)
    t.same(await idsOf('asc'), ids.toReversed())
  })

  test('filters by status, kind and name', async (t, { runs, log }) => {
    const team = storedRun({ kind: 'team', name: 'crew' })
    await runs.create(team)
    await runs.create(storedRun())
    await log.append(team.runId, 1, [textEntry(1)], completed)
    const ids = async (query: object) =>
      (await runs.list({ limit: 9, ...query })).runs.map(({ runId }) => runId)
    t.same(await ids({ status: 'completed' }), [team.runId])
    t.same(await ids({ kind: 'team' }), [team.runId])
    t.same(await ids({ name: 'crew' }), [team.runId])
    t.same(await ids({ name: 'crew', kind: 'agent' }), [])
    t.equal((await ids({})).length, 2)
  })

  test('lists what changed since then, last changed first, in pages without gaps', async (t, {
    runs,
    log
  }) => {
    const made = Array.from({ length: 12 }, (_, index) =>
      storedRun({
        createdAt: 1_000 + index,
        updatedAt: 1_000 + index,
        metadata: { customer: index % 2 === 0 ? 'even' : 'odd' },
        name: index < 6 ? 'first' : 'second',
        ...(index === 11 && { owner: 'bob' })
      })
    )
    for (const run of made) await runs.create(run)
    // In the reverse order of their begin; two at a time in the same millisecond.
    const changed = made.slice(2, 8)
    for (const [index, { runId }] of changed.entries())
      await log.append(runId, 1, [textEntry(1)], { ...completed, at: 5_000 - (index >> 1) })
    const list = async (query: object) => {
      const found: StoredRun[] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await runs.list({
          owner: 'ada',
          limit: 2,
          ...query,
          ...(cursor !== undefined && { cursor })
        })
        found.push(...page.runs.map(({ runId }) => made.find((run) => run.runId === runId)!))
        cursor = page.nextCursor
      }
      return found
    }
    const byChange = changed.toSorted(
      (a, b) => (changed.indexOf(a) >> 1) - (changed.indexOf(b) >> 1) || (a.runId < b.runId ? 1 : -1)
    )
    const newest = made.slice(8, 11).toReversed()
    t.same(await list({ since: 4_000 }), byChange)
    t.same(await list({ since: 4_999 }), byChange.slice(0, 4), 'the time itself counts')
    t.same(await list({ since: 5_001 }), [])
    t.same(await list({ since: 1_008 }), [...byChange, ...newest])
    t.same(await list({ since: 1_008, status: 'completed' }), byChange)
    t.same(
      await list({ since: 1_008, name: 'second' }),
      [...byChange, ...newest].filter(({ name }) => name === 'second')
    )
    t.same(
      await list({ since: 1_008, metadata: { key: 'customer', value: 'odd' } }),
      [...byChange, ...newest].filter(({ metadata }) => metadata?.['customer'] === 'odd')
    )
  })

  test('keeps metadata, and filters by one of its texts', async (t, { runs }) => {
    const odd = { customer: 'c-17', 'odd "[key]$.a\\': "it's", ключ: '' }
    const made = [odd, { customer: 'c-18' }, null, { customer: 'c-17' }, { other: 'c-17' }, odd].map(
      (metadata, index) => storedRun({ metadata, createdAt: index })
    )
    made.push(storedRun({ metadata: odd, owner: 'bob' }))
    for (const run of made) await runs.create(run)
    t.same((await runs.get(made[0]!.runId))?.metadata, odd)
    t.same((await runs.find(made[0]!.runId))?.metadata, odd)
    t.equal((await runs.get(made[2]!.runId))?.metadata, null)
    const places = async (key: string, value: string, limit: number) => {
      const found: number[] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const query = { owner: 'ada', metadata: { key, value }, limit }
        const page = await runs.list({ ...query, ...(cursor !== undefined && { cursor }) })
        t.ok(page.runs.length <= limit)
        for (const { runId, metadata } of page.runs) {
          t.equal(metadata?.[key], value)
          found.push(made.findIndex((run) => run.runId === runId))
        }
        cursor = page.nextCursor
      }
      return found
    }
    for (const limit of [1, 2, 100]) {
      t.same(await places('customer', 'c-17', limit), [5, 3, 0])
      t.same(await places('odd "[key]$.a\\', "it's", limit), [5, 0])
      t.same(await places('ключ', '', limit), [5, 0])
      t.same(await places('customer', 'c-1', limit), [])
      t.same(await places('toString', 'c-17', limit), [])
    }
    const everyone = await runs.list({ metadata: { key: 'customer', value: 'c-17' }, limit: 9 })
    t.equal(everyone.runs.length, 4)
  })

  test('lists the runs of a scope, with pages and a total', async (t, { runs }) => {
    const made: StoredRun[] = []
    for (const registry of ['global', 'b'])
      for (const kind of RUNNABLE_KINDS)
        for (const name of ['one', 'two', 'three'])
          made.push(storedRun({ registry, kind, name, createdAt: made.length, updatedAt: made.length }))
    for (const run of made) await runs.create(run)
    const agent = { registry: 'b', kind: 'agent', name: 'one' } as const
    const whole = { id: 'global', kinds: RUNNABLE_KINDS, except: [] }
    const scopes: [scope: RunScope, isIn: (run: StoredRun) => boolean][] = [
      [{ runnables: [] }, () => false],
      [{ runnables: [agent] }, ({ registry, kind, name }) => `${registry} ${kind} ${name}` === 'b agent one'],
      [{ runnables: [], registry: whole }, ({ registry }) => registry === 'global'],
      [{ runnables: [agent], registry: whole }, (run) => run === made[9] || run.registry === 'global'],
      [
        { runnables: [], registry: { ...whole, kinds: ['agent', 'team'] } },
        ({ registry, kind }) => registry === 'global' && kind !== 'workflow'
      ],
      [
        {
          runnables: [agent],
          registry: { id: 'b', kinds: ['agent'], except: [agent, { kind: 'agent', name: 'two' }] }
        },
        ({ registry, kind, name }) => registry === 'b' && kind === 'agent' && name !== 'two'
      ]
    ]
    for (const [scope, isIn] of scopes) {
      const wanted = made.filter(isIn).map(({ runId }) => runId)
      const found: string[] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await runs.list({
          owner: 'ada',
          scope,
          limit: 2,
          ...(cursor !== undefined && { cursor })
        })
        found.push(...page.runs.map(({ runId }) => runId))
        cursor = page.nextCursor
      }
      t.same(found.toReversed(), wanted, JSON.stringify(scope))
      const changed = await runs.listChanged({ owner: 'ada', scope, limit: 100 })
      t.same(changed.runs.map(({ runId }) => runId).toReversed(), wanted)
      t.equal(changed.total, wanted.length)
    }
  })

  test('refuses an invalid cursor', async (t, { runs }) => {
    for (const cursor of ['', 'x', '1', '1.', '.a', "1.' or 1=1", `${'9'.repeat(30)}.a`])
      t.equal(await codeOf(() => runs.list({ limit: 1, cursor })), 'REG_ERR_BAD_CURSOR', cursor)
  })

  test('lists unfinished runs that no living process has', async (t, { runs, log, lease }) => {
    const [first, second, third] = [3, 1, 2].map((createdAt) => storedRun({ createdAt }))
    for (const run of [first, second, third]) await runs.create(run!)
    await log.append(third!.runId, 1, [textEntry(1)], completed)
    const listLeft = async () =>
      (await runs.listLeft({ limit: 10 })).runs.map(({ runId }) => runId).toSorted()
    if (lease !== undefined) {
      t.same(await listLeft(), [], 'their process lives')
      await lease.leave()
    }
    t.same(await listLeft(), [first!.runId, second!.runId].toSorted())
  })

  test('lists left runs in pages, with their keys only', async (t, { runs, lease }) => {
    const all = Array.from({ length: 7 }, (_, index) => storedRun({ createdAt: 1 + (index >> 1) }))
    for (const run of all) await runs.create(run)
    await runs.requestCancel(all[3]!.runId)
    await lease?.leave()
    const seen: string[] = []
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await runs.listLeft({ limit: 3, ...(cursor !== undefined && { cursor }) })
      t.ok(page.runs.length <= 3)
      // A run that is gone in between does not shift the others.
      if (cursor === undefined) await runs.remove(page.runs[0]!.runId)
      seen.push(...page.runs.map(({ runId }) => runId))
      for (const run of page.runs) {
        const { registry, kind, name, owner } = all[0]!
        const cancelRequested = run.runId === all[3]!.runId
        const { checkpointBytes = null, ...keys } = run
        t.same(keys, { runId: run.runId, registry, kind, name, owner, cancelRequested })
        t.equal(checkpointBytes, null)
      }
      cursor = page.nextCursor
    }
    t.same(seen.toSorted(), all.map(({ runId }) => runId).toSorted())
    t.equal(await codeOf(() => runs.listLeft({ limit: 1, cursor: 'x' })), 'REG_ERR_BAD_CURSOR')
  })
}

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
          owner: 'ada',
          scope: { runnables },
          limit: 100,
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
