import type { InputOutcome, StoredInput } from '@svc/contract'
import { HOSTILE_TEXT } from './contract-test.ts'
import { completed, storedRun, textEntry, type TestStores } from './stored-run.ts'

/** The part of a `RunStore`'s contract about texts from clients, models and tools, which must stay unchanged and distinct. */
export function runTextContract(test: TestStores): void {
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
