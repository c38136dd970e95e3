import type { NumberedPart } from '@svc/contract'
import type { MessagePart } from '../model/message.ts'
import type { Outputs } from '../model/requests.ts'
import type { TaskEvent } from '../model/task.ts'
import { ANSWER_ID, tailorArtifacts } from './artifacts.ts'
import { isJsonOf, tailorAnswer, takesData, takesText } from './tailor-parts.ts'
import { TaskEvents, type EventTask } from './task-events.ts'

type ArtifactEvent = Extract<TaskEvent, { type: 'artifact' }>

/** The events of a task for a client, of the media types that it accepts. */
export function createTaskEvents(task: EventTask, outputs: Outputs): TaskEvents {
  return outputs.accepted === undefined
    ? new TaskEvents(task, outputs)
    : new TailoredEvents(task, outputs, outputs.accepted)
}

/**
 * Leaves out what the client does not take. A text that it does not take is kept until the end shows whether there is anything
 * else.
 */
class TailoredEvents extends TaskEvents {
  readonly #accepted: readonly string[]
  // Of the answer so far, where its end depends on it.
  #text = ''
  #hasOthers = false

  constructor(task: EventTask, outputs: Outputs, accepted: readonly string[]) {
    super(task, outputs)
    this.#accepted = accepted
  }

  override add(part: NumberedPart): readonly TaskEvent[] {
    return super.add(part).flatMap((event) => (event.type === 'artifact' ? this.#tailor(event) : event))
  }

  #tailor(event: ArtifactEvent): TaskEvent[] {
    const accepted = this.#accepted
    if (event.artifact.artifactId === ANSWER_ID) return this.#answer(event)
    const [artifact] = tailorArtifacts([event.artifact], accepted)
    if (artifact === undefined) return []
    this.#hasOthers = true
    return [{ ...event, artifact }]
  }

  #answer(event: ArtifactEvent): TaskEvent[] {
    const accepted = this.#accepted
    const { append, lastChunk, artifact } = event
    const [part] = artifact.parts
    const text = part !== undefined && 'text' in part ? part.text : ''
    const structured = part !== undefined && 'data' in part ? part.data : null
    if (!takesText(accepted) || !takesData(accepted)) this.#text = append ? this.#text + text : text
    if (takesText(accepted)) {
      if (structured === null || takesData(accepted)) return [event]
      return [
        withParts(event, [{ text: isJsonOf(this.#text, structured) ? '' : JSON.stringify(structured) }])
      ]
    }
    if (!lastChunk) return []
    const parts = tailorAnswer({ text: this.#text, structured }, accepted, !this.#hasOthers)
    return parts.length === 0 ? [] : [withParts({ ...event, append: false }, parts)]
  }
}

function withParts(event: ArtifactEvent, parts: MessagePart[]): ArtifactEvent {
  return { ...event, artifact: { ...event.artifact, parts } }
}
