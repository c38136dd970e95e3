import { writeSync } from 'node:fs'
import { createRunEngine, defineRunnable } from '@svc/registry'
import { createStore } from '@svc/store'

// Schedules a run behind one that does not end, says its id once it waits in the queue, and lasts until it is killed.
const [, , url = ''] = process.argv
const flow = defineRunnable({
  kind: 'workflow',
  name: 'flow',
  resumable: true,
  async *stream(input) {
    writeSync(1, `begun ${String(input)}\n`)
    yield { type: 'text', text: 'before the restart;' }
    await new Promise(() => setInterval(() => {}, 1_000))
  }
})
const engine = createRunEngine({ stores: await createStore({ url }), queue: { concurrency: 1 } })
await engine.start(flow, 'first', { queue: true })
const at = new Date(Date.now() + 20)
const { scheduleId } = await engine.schedules.create(flow, { at, input: 'scheduled' })
for (let runId: string | undefined; runId === undefined;) {
  runId = (await engine.schedules.get(scheduleId))?.lastRunId
  if (runId !== undefined) writeSync(1, `${scheduleId} ${runId}\n`)
  else await new Promise((resolve) => setTimeout(resolve, 5))
}
