import { sizeOfEntry, type LogEntry } from '@svc/registry'
import type { TaskEvent } from '../model/task.ts'
import { ANSWER_ID } from '../tasks/artifacts.ts'
import { TaskEvents, type EventTask } from '../tasks/task-events.ts'

/**
 * The events of a task that are worth a request each. The answer is one, at its end, and not piece by piece: what it says is
 * in the record of the run then, and is not gathered here.
 */
export class PushEvents {
  readonly #events: TaskEvents
  // Of what the events hold on to: requests of approvals until they are answered, and structured output.
  readonly #held = new Map<string, number>()
  #size = 0

  constructor(task: EventTask) {
    this.#events = new TaskEvents(task)
  }

  /** Characters of the log so far, about. */
  get size(): number {
    return this.#size
  }

  /** Characters that are held in memory until something else comes, about. */
  get heldSize(): number {
    let sum = 0
    for (const size of this.#held.values()) sum += size
    return sum
  }

  add(entry: LogEntry): readonly TaskEvent[] {
    const { part } = entry
    const size = sizeOfEntry(entry)
    this.#size += size
    if (part.type === 'tool.approval.request') this.#held.set(part.approvalId, size)
    else if (part.type === 'tool.approval.response') this.#held.delete(part.approvalId)
    else if (part.type === 'structured') this.#held.set('', size)
    return this.#events.add(part).filter((event) => !isAnswer(event) || event.lastChunk)
  }
}

/** Whether an event is of the answer. */
export function isAnswer(event: TaskEvent): event is Extract<TaskEvent, { type: 'artifact' }> {
  return event.type === 'artifact' && event.artifact.artifactId === ANSWER_ID
}
