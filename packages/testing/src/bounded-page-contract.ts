import { formatInputCursor, formatRunCursor } from '@svc/contract/stores'
import type {
  FoundInput,
  InputKind,
  InputQuery,
  JsonPieces,
  RunStore,
  StoredInput,
  StoredRun
} from '@svc/contract'
import { codeOf } from './contract-test.ts'
import { completed, storedRun, textEntry, type RunStores, type TestStores } from './stored-run.ts'

const MEGABYTE = 1_000_000
const kinds: readonly InputKind[] = ['approval']
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

/** Creates a run with pending inputs, whose arguments have the given length; later ones expire first. */
async function createWaiting(
  { runs, log }: RunStores,
  {
    approvals,
    characters = 0,
    kinds: [...each] = kinds,
    ...fields
  }: { approvals: number; characters?: number; kinds?: readonly InputKind[] } & Partial<
    Omit<StoredRun, 'inputs'>
  >
): Promise<string> {
  const run = storedRun(fields)
  await runs.create(run)
  for (let index = 1; index <= approvals; index++) {
    const input: StoredInput = {
      inputId: `${run.runId}.${index}`,
      kind: each[index % each.length]!,
      toolCallId: `c${index}`,
      toolName: 'send',
      args: { index, text: textOf(characters) },
      source: ['a'],
      path: ['a'],
      // Two at a time expire in the same millisecond.
      expiresAt: 9_000 - Math.floor(index / 2),
      answer: null
    }
    await log.append(run.runId, 1, [textEntry(index)], { status: 'input-required', at: 5, input })
  }
  return run.runId
}

type Query = Omit<InputQuery, 'cursor' | 'kinds'> & Partial<Pick<InputQuery, 'kinds'>>

async function readAll(runs: RunStore, query: Query): Promise<FoundInput[]> {
  const found: FoundInput[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await runs.listInputs({ kinds, ...query, ...(cursor !== undefined && { cursor }) })
    if (page.inputs.length > query.limit) throw new Error('the page exceeds its limit')
    found.push(...page.inputs)
    cursor = page.nextCursor
  }
  return found
}

const idsOf = (found: readonly FoundInput[]) => found.map(({ input }) => input.inputId)

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
    t.same(listed[0]!.stats, completed.stats)
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
      const found = await runs.find(runId)
      t.equal(found?.preview, null)
      t.equal(found?.stats, null)
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
      t.same((await runs.listInputs({ kinds, scope, limit: 2 })).nextCursor, null)
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
      (await runs.listInputs({ kinds, limit: wanted.length })).nextCursor,
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
      input: {
        inputId: `${bobs}.1`,
        kind: 'approval',
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
      const { inputs } = await runs.listInputs({ kinds, limit: 100, cursor: formatInputCursor(found) })
      t.same(idsOf(inputs), wanted.slice(index + 1), 'after each approval')
    }
  })

  test('lists the kinds that are asked for, in pages without gaps', async (t, store) => {
    const { runs } = store
    const all = ['approval', 'question', 'tool', 'auth'] as const
    const ids: Record<string, string[]> = { approval: [], question: [], tool: [], auth: [] }
    for (let index = 0; index < 5; index++) {
      const runId = await createWaiting(store, { approvals: 12, createdAt: 9_000 - index, kinds: all })
      const byExpiry = [12, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 1]
      for (const number of byExpiry) ids[all[number % 4]!]!.push(`${runId}.${number}`)
    }
    for (const kind of all)
      for (const limit of [1, 4, 100])
        t.same(idsOf(await readAll(runs, { kinds: [kind], limit })), ids[kind], `${kind}, ${limit} per page`)
    t.equal((await readAll(runs, { kinds: ['question', 'tool', 'auth'], limit: 7 })).length, 45)
    t.same(await readAll(runs, { kinds: [], limit: 7 }), [])
    const { runs: listed } = await runs.list({ limit: 9 })
    for (const { waiting } of listed) {
      t.equal(waiting.approvals.count, 3)
      t.equal(waiting.inputs.count, 9)
      t.same(new Set(waiting.approvals.first.map(({ kind }) => kind)), new Set(['approval']))
    }
  })

  test('approvals requested or answered between two pages do not shift the others', async (t, store) => {
    const { runs, log } = store
    const [a, b, c] = [
      await createWaiting(store, { approvals: 4, createdAt: 3_000 }),
      await createWaiting(store, { approvals: 2, createdAt: 2_000 }),
      await createWaiting(store, { approvals: 3, createdAt: 1_000 })
    ]
    const { inputs, nextCursor } = await runs.listInputs({ kinds, limit: 2 })
    t.same(idsOf(inputs), [`${a}.4`, `${a}.2`])
    await createWaiting(store, { approvals: 2, createdAt: 4_000 })
    // The last approval of the page, one of the next page, and a run that ends.
    for (const inputId of [`${a}.2`, `${a}.3`])
      t.equal(await runs.answerInput(a, inputId, { action: 'accept' }), true)
    await log.append(b, 1, [textEntry(3)], { status: 'canceled', at: 6 })
    const { inputs: rest } = await runs.listInputs({ kinds, limit: 9, cursor: nextCursor! })
    t.same(idsOf(rest), [`${a}.1`, `${c}.2`, `${c}.3`, `${c}.1`])
    await log.append(a, 1, [textEntry(5)], { status: 'working', at: 7 })
    t.equal((await readAll(runs, { limit: 9 })).length, 5, 'a working run has no pending approvals')
    await runs.remove(c)
    t.equal((await readAll(runs, { limit: 9 })).length, 2)
  })

  test('lists a preview of large arguments, not the arguments', async (t, store) => {
    const { runs } = store
    const runId = await createWaiting(store, { approvals: 12, characters: LONG, createdAt: 1_000 })
    const { inputs } = await runs.listInputs({ kinds, limit: 100 })
    t.equal(inputs.length, 12)
    t.ok(bytesOf(inputs) < 12_000, `${bytesOf(inputs)} bytes`)
    const args = { index: 1, text: textOf(LONG) }
    const { input } = (await runs.findInput(`${runId}.1`))!
    t.same(input, inputs.at(-1)!.input)
    t.equal(input.args, undefined)
    t.equal(input.argsBytes, bytesOf(args))
    t.ok(JSON.stringify(args).startsWith(input.argsPreview!) && input.argsPreview!.length > 100)
    const { json, longest } = await join(runs.readArgs(`${runId}.1`))
    t.same(JSON.parse(json), args, 'the arguments are complete')
    t.ok(longest < LONG, 'they arrive in pieces')
    t.same((await runs.get(runId))?.inputs.find(({ inputId }) => inputId === `${runId}.1`)?.args, args)

    const run = (await runs.find(runId))!
    t.equal(run.waiting.approvals.count, 12)
    t.same(
      run.waiting.approvals.first,
      inputs.slice(0, 10).map((found) => found.input),
      'a run lists its first ten'
    )
    t.same((await runs.list({ limit: 1 })).runs, [run])
    const answer = { action: 'accept', content: { to: 'ada' } } as const
    await runs.answerInput(runId, `${runId}.1`, answer)
    t.same((await runs.findInput(`${runId}.1`))?.input.answer, answer)
    t.equal((await runs.find(runId))?.waiting.approvals.count, 11)
  })

  test('finds no input by an unknown id, and refuses invalid cursors', async (t, store) => {
    const { runs } = store
    const runId = await createWaiting(store, { approvals: 1, createdAt: 1_000 })
    for (const inputId of ['', 'missing', runId, `${runId}.`, `${runId}.2`, `${runId}.01`, '__proto__']) {
      t.equal(await runs.findInput(inputId), undefined, inputId)
      t.equal((await join(runs.readArgs(inputId))).json, '', inputId)
    }
    const cursors = ['', 'x', '1', '1.a', '1.1.a', '1.1.a.', "1.1.a.1' or 1=1", `${'9'.repeat(30)}.1.a.1`]
    for (const cursor of cursors)
      t.equal(await codeOf(() => runs.listInputs({ kinds, limit: 1, cursor })), 'REG_ERR_BAD_CURSOR', cursor)
  })
}
