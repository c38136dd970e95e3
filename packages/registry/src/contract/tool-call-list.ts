import type { PartOf } from './part.ts'

/** What identifies a tool call in a run. */
interface CallPlace {
  readonly toolCallId: string
  readonly source?: readonly string[] | undefined
}

/**
 * The tool calls of a log with a value each, in order, without those of void attempts: a `step.start` whose `attempt` is over 1 voids
 * the calls since the step began, of its source and of what runs within it.
 */
export class ToolCallList<T> {
  readonly #calls = new Map<number, { source: readonly string[]; value: T }>()
  // A result belongs to the last call with its id: some providers reuse ids in every step.
  readonly #lastOf = new Map<string, number>()
  // How many calls there were when a step began, or when the last execution of a source finished; default 0.
  readonly #marks = new Map<string, number>()
  #added = 0

  /** The number of calls that are not void. */
  get size(): number {
    return this.#calls.size
  }

  get values(): T[] {
    return Array.from(this.#calls.values(), ({ value }) => value)
  }

  add(call: PartOf<'tool.call'>, value: T): void {
    this.#calls.set(this.#added, { source: call.source ?? [], value })
    this.#lastOf.set(toolCallKey(call), this.#added++)
  }

  /** The value of the last call with this id and source; undefined if there is none, or if it is void. */
  find(place: CallPlace): T | undefined {
    const number = this.#lastOf.get(toolCallKey(place))
    return number === undefined ? undefined : this.#calls.get(number)?.value
  }

  begin({ source = [], index, attempt }: PartOf<'step.start'>): void {
    const step = stepKey(source, index)
    if (attempt <= 1) return void this.#marks.set(step, this.#added)
    const since = Math.max(this.#marks.get(step) ?? 0, this.#marks.get(sourceKey(source)) ?? 0)
    for (const [number, call] of this.#calls)
      if (number >= since && isWithin(call.source, source)) this.#calls.delete(number)
  }

  /** The next execution of the same member or step voids no calls of this one. */
  finish({ source = [] }: PartOf<'finish'>): void {
    this.#marks.set(sourceKey(source), this.#added)
  }
}

// The steps of a workflow are not within its own answer.
function isWithin(source: readonly string[], place: readonly string[]): boolean {
  return place.length === 0 ? source.length === 0 : place.every((name, index) => source[index] === name)
}

function sourceKey(source: readonly string[]): string {
  return source.join('\u0000')
}

function stepKey(source: readonly string[], index: number): string {
  return `${sourceKey(source)}\u0000#${index}`
}

/** The key of a tool call in a run: members may use the same call id, so their path of names is part of it. */
export function toolCallKey({ toolCallId, source }: CallPlace): string {
  return source?.length ? `${sourceKey(source)}\u0000${toolCallId}` : toolCallId
}
