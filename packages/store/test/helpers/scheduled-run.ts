import { writeSync } from 'node:fs'
import { openQueueEngine, unendingFlow } from './unending-flow.ts'

// Schedules a run behind one that does not end, says its id once it waits in the queue, and lasts until it is killed.
const engine = await openQueueEngine()
await engine.start(unendingFlow, 'first', { queue: true })
const { scheduleId } = await scheduleSoon()
for (let runId: string | undefined; runId === undefined;) {
  runId = (await engine.schedules.get(scheduleId))?.lastRunId
  if (runId !== undefined) writeSync(1, `${scheduleId} ${runId}\n`)
  else await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Schedules the run for the next moment that is still to come when the schedule is there, however busy the machine is. */
async function scheduleSoon() {
  for (let ahead = 20; ; ahead *= 2) {
    const at = new Date(Date.now() + ahead)
    try {
      return await engine.schedules.create(unendingFlow, { at, input: 'scheduled' })
    } catch (err) {
      if ((err as { code?: unknown }).code !== 'RUN_ERR_SCHEDULE_PAST') throw err
    }
  }
}
