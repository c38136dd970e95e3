import type { PartOf } from './part.ts'

/** Where in a run something was made: the path of member or step names; by default the run itself. */
export interface Place {
  readonly source?: readonly string[] | undefined
}

/**
 * What the parts of a log made, in order, without what void attempts made: a `step.start` whose `attempt` is over 1 voids what was
 * added since the step began, by its source and by what runs within it.
 */
export class VoidableList<T> {
  readonly #items = new Map<number, { source: readonly string[]; value: T }>()
  // How many items there were when a step began, or when the last execution of a source finished; default 0.
  readonly #marks = new Map<string, number>()
  #added = 0

  /** The number of values that are not void. */
  get size(): number {
    return this.#items.size
  }

  get values(): T[] {
    return Array.from(this.#items.values(), ({ value }) => value)
  }

  /** Returns the number of the value in the log, counted from 0, void ones included. */
  add({ source = [] }: Place, value: T): number {
    this.#items.set(this.#added, { source, value })
    return this.#added++
  }

  /** The value with this number; undefined if there is none, or if it is void. */
  at(number: number): T | undefined {
    return this.#items.get(number)?.value
  }

  /** A step begins; returns the values of its earlier attempt, which are void. */
  begin({ source = [], index, attempt }: PartOf<'step.start'>): T[] {
    const step = `${sourceKey(source)}\u0000#${index}`
    if (attempt <= 1) {
      this.#marks.set(step, this.#added)
      return []
    }
    const since = Math.max(this.#marks.get(step) ?? 0, this.#marks.get(sourceKey(source)) ?? 0)
    const isVoid = [...this.#items].filter(
      ([number, item]) => number >= since && isVoidedBy(item.source, source)
    )
    for (const [number] of isVoid) this.#items.delete(number)
    return isVoid.map(([, { value }]) => value)
  }

  /** The next execution of the same member or step voids nothing of this one. */
  finish({ source = [] }: PartOf<'finish'>): void {
    this.#marks.set(sourceKey(source), this.#added)
  }
}

/** True if what was made at `source` is void when a step of `place` is repeated: the steps of a workflow are not within its own answer. */
export function isVoidedBy(source: readonly string[], place: readonly string[]): boolean {
  return place.length === 0 ? source.length === 0 : place.every((name, index) => source[index] === name)
}

/** The key of a member or step in a run. */
export function sourceKey(source: readonly string[]): string {
  return source.join('\u0000')
}

/** What identifies a tool call in a run. */
export interface CallPlace extends Place {
  readonly toolCallId: string
}

/** The tool calls of a log with a value each, in order, without those of void attempts. */
export class ToolCallList<T> extends VoidableList<T> {
  // A result belongs to the last call with its id: some providers reuse ids in every step.
  readonly #lastOf = new Map<string, number>()

  override add(call: CallPlace, value: T): number {
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
