import { writeSync } from 'node:fs'
import { openQueueEngine, unendingFlow } from './unending-flow.ts'

// Queues three runs, says their ids and which begin, and ends none of them, until it is killed.
const engine = await openQueueEngine()
for (const input of ['1', '2', '3']) {
  const { runId } = await engine.start(unendingFlow, input, { queue: true })
  writeSync(1, `${runId}\n`)
}
