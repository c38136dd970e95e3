import { sourceKey, type NumberedPart } from '@svc/contract'
import type { AgUiEvent, AgUiEventOf, Tag } from '../wire/events.ts'

type Outcome = AgUiEventOf<'SUBAGENT_FINISHED'>['outcome']

/** One call of a member of a team, or of a step of a workflow. */
interface Call {
  readonly tag: Required<Tag>
  readonly source: readonly string[]
  /** True if the stream has its start, in this part of the run. */
  isShown: boolean
}

/**
 * The calls of members and steps, which are AG-UI's subagents. A call begins with the first part of its source, and ends with a `finish` or
 * `error` of it; where the run waits, it is suspended, and the next part of the run announces it again under the same id.
 */
export class Members {
  // By their source, in the order in which they began: a call stands after the one that it is within.
  readonly #calls = new Map<string, Call>()

  /** The tag of a part's source; the events that announce it, and what it is within, are added to `events`. */
  open(runId: string, { source = [], seq }: NumberedPart, events: AgUiEvent[]): Tag {
    let parent: Call | undefined
    for (let depth = 1; depth <= source.length; depth++) {
      const place = source.slice(0, depth)
      const key = sourceKey(place)
      let call = this.#calls.get(key)
      if (call === undefined) {
        const subagentRunId = [runId, ...place, seq].join('-')
        this.#calls.set(key, (call = { tag: { subagentRunId }, source: place, isShown: false }))
      }
      if (!call.isShown) {
        call.isShown = true
        const { subagentRunId } = call.tag
        const within = parent && { parentSubagentRunId: parent.tag.subagentRunId }
        events.push({ type: 'SUBAGENT_STARTED', subagentRunId, name: place.at(-1)!, ...within })
      }
      parent = call
    }
    return parent?.tag ?? {}
  }

  /** Ends the call of a source, and what is within it, with an event. */
  end(source: readonly string[], toEvent: (tag: Required<Tag>) => AgUiEvent): AgUiEvent[] {
    const events: AgUiEvent[] = []
    for (const [key, call] of [...this.#calls].toReversed()) {
      if (!source.every((name, index) => call.source[index] === name)) continue
      this.#calls.delete(key)
      if (!call.isShown) continue
      const isSelf = call.source.length === source.length
      events.push(isSelf ? toEvent(call.tag) : { type: 'SUBAGENT_FINISHED', ...call.tag })
    }
    return events
  }

  /** Ends all calls, because the run ends. */
  endAll(toEvent: (tag: Required<Tag>) => AgUiEvent): AgUiEvent[] {
    const shown = [...this.#calls.values()].toReversed().filter(({ isShown }) => isShown)
    this.#calls.clear()
    return shown.map(({ tag }) => toEvent(tag))
  }

  /** Suspends all calls, because the run waits. @param interruptsOf the ids of what a call itself waits for */
  suspendAll(interruptsOf: (subagentRunId: string) => string[]): AgUiEvent[] {
    const events: AgUiEvent[] = []
    for (const call of [...this.#calls.values()].toReversed()) {
      if (!call.isShown) continue
      call.isShown = false
      const interruptIds = interruptsOf(call.tag.subagentRunId)
      const outcome: Outcome = { type: 'suspended', ...(interruptIds.length > 0 && { interruptIds }) }
      events.push({ type: 'SUBAGENT_FINISHED', ...call.tag, outcome })
    }
    return events
  }

  /** The next part of the run begins: calls are announced again. */
  hideAll(): void {
    for (const call of this.#calls.values()) call.isShown = false
  }
}
