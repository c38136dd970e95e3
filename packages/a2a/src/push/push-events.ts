import { RunResultBuilder, type NumberedPart } from '@svc/registry'
import type { TaskEvent } from '../model/task-event.ts'
import { ANSWER_ID, toArtifacts } from '../tasks/artifacts.ts'
import { TaskEvents, type EventTask } from '../tasks/task-events.ts'

/** The events of a task that are worth a request each: the answer comes once, whole, not piece by piece. */
export class PushEvents {
  readonly #events: TaskEvents
  readonly #result = new RunResultBuilder()

  constructor(task: EventTask) {
    this.#events = new TaskEvents(task)
  }

  add(part: NumberedPart): TaskEvent[] {
    this.#result.add(part)
    return this.#events.add(part).flatMap((event) => this.#whole(event))
  }

  #whole(event: TaskEvent): TaskEvent[] {
    if (event.type !== 'artifact' || event.artifact.artifactId !== ANSWER_ID) return [event]
    if (!event.lastChunk) return []
    const answer = toArtifacts(this.#result.build()).find(({ artifactId }) => artifactId === ANSWER_ID)
    return answer === undefined ? [] : [{ ...event, artifact: answer, append: false }]
  }
}
