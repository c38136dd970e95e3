import {
  isTerminalPart,
  readEntries,
  type Exposed,
  type PushConfig,
  type RunEngine,
  type RunLog,
  type RunSummary,
  type TaskStore
} from '@svc/registry'
import type { ProtocolVersion } from '../model/agent-card.ts'
import type { TaskEvent } from '../model/task-event.ts'
import { readTask } from '../tasks/read-task.ts'
import { deliver, type DeliveryRules } from './deliver.ts'
import { encodePush } from './encode-push.ts'
import { PushEvents } from './push-events.ts'

/** What is told, where it is recorded, and how hard it is tried. */
export interface PushSource {
  readonly runs: RunEngine
  readonly tasks: TaskStore
  readonly exposed: Pick<Exposed, 'shows'>
  readonly rules: DeliveryRules
  readonly log: RunLog
}

/**
 * Tells a receiver what comes after the part `told`, until the task's last event, and records how far it came.
 * @throws the signal's reason when it aborts, and what the stores throw
 */
export async function tellReceiver(
  source: PushSource,
  { runId, sessionId, createdAt }: RunSummary,
  config: PushConfig,
  told: number,
  signal: AbortSignal
): Promise<void> {
  const { runs, tasks } = source
  const events = new PushEvents({ taskId: runId, contextId: sessionId, createdAt })
  // From the beginning: events follow from the whole log.
  for await (const { seq, part } of readEntries(runs, runId, 0, signal)) {
    let isTold = false
    for (const event of events.add(part))
      if (seq > told && (await tell(source, event, runId, config, signal))) isTold = true
    signal.throwIfAborted()
    if (isTerminalPart(part)) await tasks.recordPush(runId, config.id, null)
    else if (isTold) await tasks.recordPush(runId, config.id, seq)
  }
}

// Whether there was something to tell; what is not taken in the end is given up.
async function tell(
  source: PushSource,
  event: TaskEvent,
  runId: string,
  config: PushConfig,
  signal: AbortSignal
): Promise<boolean> {
  const { runs, rules, log } = source
  const readWhole = async () => {
    const run = await runs.find(runId)
    return run && readTask(source, run)
  }
  const version = (config.version ?? '0.3') as ProtocolVersion
  const delivery = await encodePush(event, version, config, readWhole)
  if (delivery === undefined) return false
  await deliver(delivery, rules, signal, log)
  return true
}
