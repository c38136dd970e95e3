import { completed, storedRun, textEntry, type TestStores } from './stored-run.ts'

/** The part of a `RunStore`'s contract about announced removals, if it announces them. */
export function removedRunContract(test: TestStores): void {
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
