import type { PartOf } from './part.ts'
import { sourceKey, VoidableList, type Place } from './voidable-list.ts'

/** What identifies a tool call in a run. */
interface CallPlace extends Place {
  readonly toolCallId: string
}

/** The tool calls of a log with a value each, in order, without those of void attempts. */
export class ToolCallList<T> extends VoidableList<T> {
  // A result belongs to the last call with its id: some providers reuse ids in every step.
  readonly #lastOf = new Map<string, number>()

  override add(call: PartOf<'tool.call'>, value: T): number {
    const number = super.add(call, value)
    this.#lastOf.set(toolCallKey(call), number)
    return number
  }

  /** The value of the last call with this id and source; undefined if there is none, or if it is void. */
  find(place: CallPlace): T | undefined {
    const number = this.#lastOf.get(toolCallKey(place))
    return number === undefined ? undefined : this.at(number)
  }
}

/** The key of a tool call in a run: members may use the same call id, so their path of names is part of it. */
export function toolCallKey({ toolCallId, source }: CallPlace): string {
  return source?.length ? `${sourceKey(source)}\u0000${toolCallId}` : toolCallId
}
