import { writeSync } from 'node:fs'
import { openQueueEngine, unendingFlow } from './unending-flow.ts'

// Schedules a run behind one that does not end, says its id once it waits in the queue, and lasts until it is killed.
const engine = await openQueueEngine()
await engine.start(unendingFlow, 'first', { queue: true })
const at = new Date(Date.now() + 20)
const { scheduleId } = await engine.schedules.create(unendingFlow, { at, input: 'scheduled' })
for (let runId: string | undefined; runId === undefined;) {
  runId = (await engine.schedules.get(scheduleId))?.lastRunId
  if (runId !== undefined) writeSync(1, `${scheduleId} ${runId}\n`)
  else await new Promise((resolve) => setTimeout(resolve, 5))
}
