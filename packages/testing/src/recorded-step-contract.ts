import { codeOf } from './contract-test.ts'
import { completed, storedRun, textEntry, type TestStores } from './stored-run.ts'

/** The part of a `RunStore`'s contract about recorded steps. */
export function recordedStepContract(test: TestStores): void {
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
