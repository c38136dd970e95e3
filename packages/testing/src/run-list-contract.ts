import { RUNNABLE_KINDS, type RunScope, type StoredRun } from '@svc/contract'
import { codeOf } from './contract-test.ts'
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
    const found: string[] = []
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await runs.list({ owner: 'ada', limit: 7, ...(cursor !== undefined && { cursor }) })
      found.push(...page.runs.map(({ runId }) => runId))
      cursor = page.nextCursor
    }
    t.same(
      found,
      wanted.map(({ runId }) => runId)
    )
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
