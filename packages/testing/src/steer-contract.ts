import { randomId } from '@svc/contract'
import { completed, storedRun, textEntry, type TestStores } from './stored-run.ts'

/** The contract of messages that are to join a run. */
export function steerContract(test: TestStores): void {
  test('keeps a message that is to join a run, once and until the run is removed', async (t, {
    runs,
    log
  }) => {
    const [run, other] = [storedRun(), storedRun()]
    for (const each of [run, other]) await runs.create(each)
    const steer = {
      steerId: randomId(),
      runId: run.runId,
      hash: 'h',
      message: [{ type: 'text', text: 'a é' }]
    } as const
    t.equal(await runs.findSteer(steer.steerId), undefined)
    t.same(await runs.offerSteer(steer), steer)
    t.same(await runs.offerSteer({ ...steer, runId: other.runId, hash: null, message: 'b' }), steer)
    t.same(await runs.findSteer(steer.steerId), steer)
    await log.append(run.runId, 1, [textEntry(1)], completed)
    t.same(await runs.offerSteer(steer), steer, 'after the end, too')
    const late = { ...steer, steerId: randomId(), hash: null }
    t.equal(await runs.offerSteer(late), undefined)
    t.equal(await runs.offerSteer({ ...late, runId: 'missing' }), undefined)
    t.equal(await runs.findSteer(late.steerId), undefined)
    await runs.remove(run.runId)
    t.equal(await runs.findSteer(steer.steerId), undefined)
  })
}
