import type { Part, RunResult, StoredRun } from '@svc/contract'
import { storedRun } from '@svc/testing'
import t from 'tap'
import { encodePart } from '../../src/engine/log/encode-part.ts'
import { PackedRun } from '../../src/stores/in-process/run-entry.ts'
import { createInProcessRunStore, createInProcessStreamLog } from '../../src/stores/in-process/run-store.ts'
import { RunTable } from '../../src/stores/in-process/run-table.ts'

const usage = { promptTokens: 1, completionTokens: 2, totalTokens: 3 }
const ODD = 'a\u001e"\n\ud800 漢字 \u2028 😀'

function makeStores() {
  const table = new RunTable({ maxAge: 60_000, maxRuns: 100, maxBytes: 1_000_000 })
  return {
    table,
    runs: createInProcessRunStore(table),
    log: createInProcessStreamLog(table, { report: undefined })
  }
}
type Made = ReturnType<typeof makeStores>

/** Runs to the end, with a follower. Returns what ends the following. */
async function runFollowed({ runs, log }: Made, record: StoredRun, text: string): Promise<() => void> {
  const { runId, kind, name, sessionId } = record
  await runs.create(record)
  const leave = log.follow(runId, () => {})
  const parts: Part[] = [
    { type: 'start', runId, kind, name, sessionId, input: ODD },
    { type: 'text', text },
    { type: 'text', text: ODD },
    { type: 'tool.call', toolCallId: 'c', toolName: 't', args: { b: 1, a: [ODD], 2: null } },
    { type: 'tool.result', toolCallId: 'c', toolName: 't', result: 2, durationMs: 1, json: 'x' } as Part,
    { type: 'data', name: 'json', value: { json: 'x' } },
    { type: 'finish', finishReason: 'stop', usage, durationMs: 1.5, structured: null }
  ]
  const entries = parts.map((part, index) => encodePart(index + 1, 2_000 + 7 * index, part))
  const result: RunResult = {
    text,
    toolCalls: [],
    usage,
    structured: { 1: ODD },
    durationMs: 1.5,
    runId,
    sessionId,
    finishReason: 'stop'
  }
  const preview = text.slice(0, 256)
  await log.append(runId, 1, entries, { status: 'completed', at: 3_000, result, preview, stats: { usage } })
  return leave
}

async function readAll({ runs, log }: Made, record: StoredRun): Promise<unknown> {
  const { runId, owner } = record
  const entries = await log.read(runId, 0, { entries: 99, bytes: 1e9 })
  return {
    record: await runs.get(runId),
    summary: await runs.find(runId),
    result: [...(runs.readResult(runId) as Iterable<string>)].join(''),
    listed: await runs.list({ limit: 9 }),
    changed: await runs.listChanged({ owner, scope: { runnables: [record] }, limit: 9 }),
    jsons: entries.map(({ json }) => json),
    parts: entries.map(({ part }) => part)
  }
}

const isPacked = ({ table }: Made) => [...table.all()].map((run) => run instanceof PackedRun)

const CASES: Record<string, { text: string; fields?: Partial<StoredRun>; isLong?: boolean }> = {
  'of a text': { text: 'Hello.' },
  'with a longer text than its preview': { text: 'x'.repeat(1_000) },
  'with odd characters': { text: ODD },
  'with all that a caller gives': {
    text: 'Hi',
    fields: { userId: 'u', metadata: { a: 'b' }, startKey: { key: 'k', hash: 'h' } }
  },
  'that is long': { text: 'x'.repeat(10_000), isLong: true }
}

for (const [name, { text, fields = {}, isLong = false }] of Object.entries(CASES))
  t.test(`a finished run ${name} is the same whether it is packed or not`, async (t) => {
    const made = makeStores()
    const record = storedRun(fields)
    const leave = await runFollowed(made, record, text)
    t.same(isPacked(made), [false], 'not while it is followed')
    const first = await readAll(made, record)
    leave()
    t.same(isPacked(made), [!isLong])
    t.same(await readAll(made, record), first)
    const leaveAgain = made.log.follow(record.runId, () => {})
    t.same(isPacked(made), [false])
    t.same(await readAll(made, record), first)
    leaveAgain()
    t.same(isPacked(made), [!isLong])
    t.same(await readAll(made, record), first)
  })

t.test('a packed run is found by its start key, until that is freed', async (t) => {
  const made = makeStores()
  const record = storedRun({ startKey: { key: 'k', hash: 'h' } })
  ;(await runFollowed(made, record, 'Hi'))()
  const { runs } = made
  t.equal((await runs.findStarted(record))?.runId, record.runId)
  t.equal((await runs.create(storedRun({ startKey: record.startKey })))?.runId, record.runId)
  await runs.freeStartKey(record.runId)
  t.equal(await runs.findStarted(record), undefined)
  t.equal((await runs.get(record.runId))?.startKey, null)
  t.same(isPacked(made), [true])
})

t.test('followers of a packed run learn that it is removed', async (t) => {
  const made = makeStores()
  const record = storedRun()
  ;(await runFollowed(made, record, 'Hi'))()
  const notices: (boolean | undefined)[] = []
  made.log.follow(record.runId, (gone) => notices.push(gone))
  await made.runs.remove(record.runId)
  t.same(notices, [true])
  t.same(isPacked(made), [])
})
