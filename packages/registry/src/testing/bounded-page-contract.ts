import { formatApprovalCursor, formatRunCursor } from '../stores/run-cursor.ts'
import type {
  ApprovalQuery,
  FoundApproval,
  RunStore,
  StoredApproval,
  StoredRun
} from '../contract/ports/run-store.ts'
import type { JsonPieces } from '../wire/encode-pieces.ts'
import { codeOf } from './contract-test.ts'
import { completed, storedRun, textEntry, type RunStores, type TestStores } from './stored-run.ts'

const MEGABYTE = 1_000_000
const LONG = 400_000
const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

/** A text that exposes cuts by bytes or within surrogate pairs. */
const textOf = (length: number) => '“ünï𝄞” \u0000\n\\"'.repeat(Math.ceil(length / 12)).slice(0, length)

async function join(pieces: JsonPieces): Promise<{ json: string; longest: number }> {
  let json = ''
  let longest = 0
  for await (const piece of pieces) {
    json += piece
    longest = Math.max(longest, piece.length)
  }
  return { json, longest }
}

/** Creates a run with pending approvals, whose arguments have the given length; later ones expire first. */
async function createWaiting(
  { runs, log }: RunStores,
  {
    approvals,
    characters = 0,
    ...fields
  }: { approvals: number; characters?: number } & Partial<Omit<StoredRun, 'approvals'>>
): Promise<string> {
  const run = storedRun(fields)
  await runs.create(run)
  for (let index = 1; index <= approvals; index++) {
    const approval: StoredApproval = {
      approvalId: `${run.runId}.${index}`,
      toolCallId: `c${index}`,
      toolName: 'send',
      args: { index, text: textOf(characters) },
      source: ['a'],
      // Two at a time expire in the same millisecond.
      expiresAt: 9_000 - Math.floor(index / 2),
      answer: null
    }
    await log.append(run.runId, 1, [textEntry(index)], { status: 'input-required', at: 5, approval })
  }
  return run.runId
}

async function readAll(runs: RunStore, query: Omit<ApprovalQuery, 'cursor'>): Promise<FoundApproval[]> {
  const found: FoundApproval[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await runs.listApprovals({ ...query, ...(cursor !== undefined && { cursor }) })
    if (page.approvals.length > query.limit) throw new Error('the page exceeds its limit')
    found.push(...page.approvals)
    cursor = page.nextCursor
  }
  return found
}

const idsOf = (found: readonly FoundApproval[]) => found.map(({ approval }) => approval.approvalId)

/** The part of a `RunStore`'s contract that bounds the data read by lists. */
export function boundedPageContract(test: TestStores): void {
  test('lists a preview of each result, not the result', async (t, { runs, log }) => {
    const text = textOf(MEGABYTE)
    const result = { ...completed.result, text }
    const plain = { ...completed.result, text: 'x'.repeat(MEGABYTE) }
    const ids: string[] = []
    for (let index = 1; index <= 100; index++) {
      const run = storedRun({ createdAt: 1_000 + index })
      await runs.create(run)
      const change = { ...completed, result: index === 100 ? result : plain, preview: `preview ${index}` }
      await log.append(run.runId, 1, [textEntry(1)], change)
      ids.unshift(run.runId)
    }
    const { runs: listed, nextCursor } = await runs.list({ owner: 'ada', limit: 100 })
    t.same(
      listed.map(({ runId }) => runId),
      ids
    )
    t.equal(nextCursor, null)
    t.ok(bytesOf(listed) < 100_000, `${bytesOf(listed)} bytes`)
    const changed = await runs.listChanged({ owner: 'ada', scope: { runnables: listed }, limit: 100 })
    t.same(changed.runs.length, 100)
    t.ok(bytesOf(changed) < 100_000, `${bytesOf(changed)} bytes`)
    t.equal(listed[0]!.preview, 'preview 100')
    t.same(await runs.find(ids[0]!), listed[0])
    t.same((await runs.get(ids[0]!))?.result, result, 'the record has the whole result')
    const { json, longest } = await join(runs.readResult(ids[0]!))
    t.same(JSON.parse(json), result)
    t.ok(longest < MEGABYTE, 'it arrives in pieces')
  })

  test('a run without a result has no preview, and reads as empty', async (t, { runs, log }) => {
    const { runId } = storedRun()
    await runs.create(storedRun({ runId }))
    for (const status of ['working', 'failed'] as const) {
      t.equal((await runs.find(runId))?.preview, null)
      t.equal((await join(runs.readResult(runId))).json, '')
      await log.append(runId, 1, [], { status, at: 5 })
    }
    t.equal((await runs.get(runId))?.result, null)
    t.equal(await runs.find('missing'), undefined)
    t.equal((await join(runs.readResult('missing'))).json, '')
  })

  test('a cursor may point at any run of a page', async (t, { runs }) => {
    const made = [0, 1, 2, 3, 4, 5].map((index) =>
      storedRun({ createdAt: 1_000 + (index >> 1), updatedAt: 2_000 })
    )
    for (const run of made) await runs.create(run)
    const { runs: all } = await runs.list({ limit: 9 })
    const query = { owner: 'ada', scope: { runnables: all }, limit: 9 }
    const { runs: changed } = await runs.listChanged(query)
    for (const index of all.keys()) {
      const { runId, createdAt: at } = all[index]!
      const { runs: rest } = await runs.list({ limit: 9, cursor: formatRunCursor({ runId, at }) })
      t.same(rest, all.slice(index + 1))
      const { updatedAt, ...last } = changed[index]!
      const cursor = formatRunCursor({ runId: last.runId, at: updatedAt })
      t.same((await runs.listChanged({ ...query, cursor })).runs, changed.slice(index + 1))
    }
  })

  test('lists only approvals within the scope', async (t, store) => {
    const { runs } = store
    const createdAt = 1_000
    const mine = { registry: 'mine', kind: 'workflow', name: 'asks' } as const
    const runId = await createWaiting(store, { approvals: 2, createdAt, ...mine })
    for (const other of [{ registry: 'theirs' }, { kind: 'team' as const }, { name: 'others' }])
      await createWaiting(store, { approvals: 2, createdAt, ...mine, ...other })
    const wanted = [`${runId}.2`, `${runId}.1`]
    const except = [{ kind: 'workflow', name: 'others' } as const]
    const scopes = [
      { runnables: [mine] },
      { runnables: [], registry: { id: 'mine', kinds: ['workflow' as const], except } }
    ]
    for (const scope of scopes) {
      t.same(idsOf(await readAll(runs, { scope, limit: 1 })), wanted)
      t.same((await runs.listApprovals({ scope, limit: 2 })).nextCursor, null)
    }
    t.same(await readAll(runs, { scope: { runnables: [] }, limit: 9 }), [])
  })

  test('lists pending approvals, newest run first, in pages without gaps', async (t, store) => {
    const { runs } = store
    const old = await createWaiting(store, { approvals: 15, createdAt: 1_000 })
    const same = [1, 2].map(() => createWaiting(store, { approvals: 3, createdAt: 2_000 }))
    const [first, second] = (await Promise.all(same)).sort()
    const bobs = await createWaiting(store, { approvals: 1, createdAt: 3_000, owner: 'bob' })
    const wanted = [
      `${bobs}.1`,
      ...[second, first].flatMap((runId) => [`${runId}.2`, `${runId}.3`, `${runId}.1`]),
      ...[14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 1].map((index) => `${old}.${index}`)
    ]
    for (const limit of [1, 4, 100])
      t.same(idsOf(await readAll(runs, { limit })), wanted, `${limit} per page`)
    t.equal(
      (await runs.listApprovals({ limit: wanted.length })).nextCursor,
      null,
      'no cursor after a full last page'
    )
    t.same(idsOf(await readAll(runs, { limit: 2, owner: 'ada' })), wanted.slice(1))
    t.same(idsOf(await readAll(runs, { limit: 2, runId: old })), wanted.slice(-15))
    t.same(await readAll(runs, { limit: 2, runId: old, owner: 'bob' }), [])
    const all = await readAll(runs, { limit: 100 })
    t.same(all[0], {
      run: {
        runId: bobs,
        registry: 'global',
        kind: 'agent',
        name: 'echo',
        owner: 'bob',
        createdAt: 3_000,
        status: 'input-required'
      },
      approval: {
        approvalId: `${bobs}.1`,
        toolCallId: 'c1',
        toolName: 'send',
        args: { index: 1, text: '' },
        argsBytes: 21,
        source: ['a'],
        expiresAt: 9_000,
        answer: null
      }
    })
    for (const [index, found] of all.entries()) {
      const { approvals } = await runs.listApprovals({ limit: 100, cursor: formatApprovalCursor(found) })
      t.same(idsOf(approvals), wanted.slice(index + 1), 'after each approval')
    }
  })

  test('approvals requested or answered between two pages do not shift the others', async (t, store) => {
    const { runs, log } = store
    const [a, b, c] = [
      await createWaiting(store, { approvals: 4, createdAt: 3_000 }),
      await createWaiting(store, { approvals: 2, createdAt: 2_000 }),
      await createWaiting(store, { approvals: 3, createdAt: 1_000 })
    ]
    const { approvals, nextCursor } = await runs.listApprovals({ limit: 2 })
    t.same(idsOf(approvals), [`${a}.4`, `${a}.2`])
    await createWaiting(store, { approvals: 2, createdAt: 4_000 })
    // The last approval of the page, one of the next page, and a run that ends.
    for (const approvalId of [`${a}.2`, `${a}.3`])
      t.equal(await runs.answerApproval(a, approvalId, { approved: true }), true)
    await log.append(b, 1, [textEntry(3)], { status: 'canceled', at: 6 })
    const { approvals: rest } = await runs.listApprovals({ limit: 9, cursor: nextCursor! })
    t.same(idsOf(rest), [`${a}.1`, `${c}.2`, `${c}.3`, `${c}.1`])
    await log.append(a, 1, [textEntry(5)], { status: 'working', at: 7 })
    t.equal((await readAll(runs, { limit: 9 })).length, 5, 'a working run has no pending approvals')
    await runs.remove(c)
    t.equal((await readAll(runs, { limit: 9 })).length, 2)
  })

  test('lists a preview of large arguments, not the arguments', async (t, store) => {
    const { runs } = store
    const runId = await createWaiting(store, { approvals: 12, characters: LONG, createdAt: 1_000 })
    const { approvals } = await runs.listApprovals({ limit: 100 })
    t.equal(approvals.length, 12)
    t.ok(bytesOf(approvals) < 12_000, `${bytesOf(approvals)} bytes`)
    const args = { index: 1, text: textOf(LONG) }
    const { approval } = (await runs.findApproval(`${runId}.1`))!
    t.same(approval, approvals.at(-1)!.approval)
    t.equal(approval.args, undefined)
    t.equal(approval.argsBytes, bytesOf(args))
    t.ok(JSON.stringify(args).startsWith(approval.argsPreview!) && approval.argsPreview!.length > 100)
    const { json, longest } = await join(runs.readArgs(`${runId}.1`))
    t.same(JSON.parse(json), args, 'the arguments are complete')
    t.ok(longest < LONG, 'they arrive in pieces')
    t.same(
      (await runs.get(runId))?.approvals.find(({ approvalId }) => approvalId === `${runId}.1`)?.args,
      args
    )

    const run = (await runs.find(runId))!
    t.equal(run.waiting.count, 12)
    t.same(
      run.waiting.approvals,
      approvals.slice(0, 10).map((found) => found.approval),
      'a run lists its first ten'
    )
    t.same((await runs.list({ limit: 1 })).runs, [run])
    await runs.answerApproval(runId, `${runId}.1`, { approved: true, args: { to: 'ada' } })
    t.same((await runs.findApproval(`${runId}.1`))?.approval.answer, { approved: true, args: { to: 'ada' } })
    t.equal((await runs.find(runId))?.waiting.count, 11)
  })

  test('finds no approval by an unknown id, and refuses invalid cursors', async (t, store) => {
    const { runs } = store
    const runId = await createWaiting(store, { approvals: 1, createdAt: 1_000 })
    for (const approvalId of ['', 'missing', runId, `${runId}.`, `${runId}.2`, `${runId}.01`, '__proto__']) {
      t.equal(await runs.findApproval(approvalId), undefined, approvalId)
      t.equal((await join(runs.readArgs(approvalId))).json, '', approvalId)
    }
    const cursors = ['', 'x', '1', '1.a', '1.1.a', '1.1.a.', "1.1.a.1' or 1=1", `${'9'.repeat(30)}.1.a.1`]
    for (const cursor of cursors)
      t.equal(await codeOf(() => runs.listApprovals({ limit: 1, cursor })), 'REG_ERR_BAD_CURSOR', cursor)
  })
}
