import type { LogEntry } from '@svc/contract'
import { sizeOfEntry } from '@svc/contract/stores'
import type { Outputs } from '../model/requests.ts'
import type { TaskEvent } from '../model/task.ts'
import { ANSWER_ID } from '../tasks/artifacts.ts'
import { TaskEvents, type EventTask } from '../tasks/task-events.ts'

/**
 * The events of a task that are worth a request each. The answer is one event, at its end; its text is read from the run's
 * record then, and not collected here.
 */
export class PushEvents {
  readonly #events: TaskEvents
  // Sizes of what the events retain: open requests, and structured output.
  readonly #held = new Map<string, number>()
  #size = 0

  constructor(task: EventTask, outputs: Outputs) {
    this.#events = new TaskEvents(task, outputs)
  }

  /** Approximate characters of the log so far. */
  get size(): number {
    return this.#size
  }

  /** Approximate characters retained in memory. */
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
    else if (part.type === 'input.request') this.#held.set(part.inputId, size)
    else if (part.type === 'input.response') this.#held.delete(part.inputId)
    else if (part.type === 'structured') this.#held.set('', size)
    return this.#events.add(part).filter((event) => !isAnswer(event) || event.lastChunk)
  }
}

/** True if an event belongs to the answer. */
export function isAnswer(event: TaskEvent): event is Extract<TaskEvent, { type: 'artifact' }> {
  return event.type === 'artifact' && event.artifact.artifactId === ANSWER_ID
}
