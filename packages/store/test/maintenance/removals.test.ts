import { storedRun, textEntry } from '@svc/testing'
import t from 'tap'
import { eachStore } from '../helpers/each-store.ts'

await eachStore(t, async (t, open) => {
  t.test('a run stays until all other data of it could be removed', async (t) => {
    const store = await open()
    t.teardown(() => store.close())
    const ended = { status: 'completed', at: 1 } as const
    const [swept, removed] = [storedRun().runId, storedRun().runId]
    for (const runId of [swept, removed]) {
      await store.runs.create(storedRun({ runId }))
      await store.log.append(runId, 1, [textEntry(1)], ended)
    }
    const stop = store.runs.onRemove!(async (runIds) => {
      for (const runId of runIds) t.ok(await store.runs.find(runId), 'the listener comes first')
      throw new Error('the files could not be removed')
    })
    await t.rejects(async () => store.runs.sweep(Number.MAX_SAFE_INTEGER), { message: /files/ })
    await t.rejects(async () => store.runs.remove(removed), { message: /files/ })
    for (const runId of [swept, removed]) t.ok(await store.runs.find(runId))
    stop()
    await store.runs.remove(removed)
    t.equal(await store.runs.sweep(Number.MAX_SAFE_INTEGER), 1)
  })

  t.test('a task that was written after its run was removed goes after a day', async (t) => {
    const { runs, tasks, close } = await open()
    t.teardown(close)
    const run = storedRun()
    await runs.create(run)
    const now = Date.now()
    const task = { contextId: 'c', registry: 'global', owner: 'ada', agentName: 'echo', createdAt: now }
    for (const taskId of ['left', run.runId]) await tasks.create({ ...task, taskId, messages: ['x'] }, taskId)
    await runs.sweep(now)
    t.ok(await tasks.get('left'))
    await runs.sweep(now + 90_000_000)
    t.equal(await tasks.get('left'), undefined)
    t.ok(await tasks.get(run.runId))
  })
})
