import type { NumberedPart, PartOf } from './part.ts'

// Imports types alone: pages bundle it.

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
function isVoidedBy(source: readonly string[], place: readonly string[]): boolean {
  return place.length === 0 ? source.length === 0 : isWithin(source, place)
}

/** True if a source is a place, or a member or step within it. */
export function isWithin(source: readonly string[], place: readonly string[]): boolean {
  return place.every((name, index) => source[index] === name)
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

/** A part that may be the first of its call. */
export type CallPart = NumberedPart &
  (PartOf<'tool.call.delta'> | PartOf<'tool.call'> | PartOf<'tool.approval.request'>)

/** A part about a tool call. */
export type CallsPart =
  | CallPart
  | (NumberedPart & PartOf<'tool.approval.response' | 'tool.result' | 'tool.error'>)

/** A tool call of a run, as far as its log has it. */
export interface RunCall<T> {
  /** What a wire shows it as. */
  readonly shown: T
  toolName: string
  readonly source: readonly string[]
  isClient: boolean
  /** `written` while the model writes the arguments; `open` until the call has an outcome. */
  state: 'written' | 'open' | 'over'
  /** The arguments that an approval put in place of the call's own. */
  editedArgs: unknown
  isDenied: boolean
}

/** What a part means for its call. */
export interface CallChange<T> {
  readonly call: RunCall<T>
  /** The call begins with this part. */
  readonly isFirst: boolean
  /** The part has all arguments of the call. */
  readonly isWhole: boolean
}

/**
 * Folds the tool calls of a log: increments of arguments and the call that they become, outcomes by id and member, approvals, and what
 * repeated steps make void.
 */
export class RunCalls<T> {
  readonly #show: (part: CallPart) => T
  readonly #calls = new ToolCallList<RunCall<T>>()
  // Calls whose arguments are under way.
  readonly #written = new Map<string, RunCall<T>>()
  readonly #approvals = new Map<string, RunCall<T>>()

  /** @param show makes what a call is shown as, from its first part */
  constructor(show: (part: CallPart) => T) {
    this.#show = show
  }

  /** The last call with this id and source whose arguments are whole; undefined if there is none, or if it is void. */
  find(place: CallPlace): RunCall<T> | undefined {
    return this.#calls.find(place)
  }

  /** Takes the next part; returns what it means for its call, undefined if there is none. */
  add(part: CallsPart): CallChange<T> | undefined {
    switch (part.type) {
      case 'tool.call.delta':
        return this.#write(part)
      case 'tool.call':
        return this.#begin(part)
      case 'tool.approval.request': {
        const change = known(this.#calls.find(part)) ?? this.#begin(part)
        this.#approvals.set(part.approvalId, change.call)
        return change
      }
      case 'tool.approval.response': {
        const call = this.#approvals.get(part.approvalId)
        this.#approvals.delete(part.approvalId)
        if (call === undefined) return undefined
        call.isDenied = !part.approved
        if (part.args !== undefined) call.editedArgs = part.args
        return known(call)
      }
      case 'tool.result':
      case 'tool.error': {
        const call = this.#calls.find(part)
        if (call !== undefined) call.state = 'over'
        return known(call)
      }
      default:
        return undefined
    }
  }

  /** A step begins; returns the calls of its earlier attempt, which are void: those whose arguments are under way come last. */
  begin(part: PartOf<'step.start'>): RunCall<T>[] {
    const isVoid = this.#calls.begin(part)
    if (part.attempt <= 1) return []
    for (const [id, call] of this.#approvals) if (isVoid.includes(call)) this.#approvals.delete(id)
    return [...isVoid, ...this.dropWritten(({ source }) => isVoidedBy(source, part.source ?? []))]
  }

  /** A member or a step has ended: its next execution voids nothing of this one. */
  finish(part: PartOf<'finish'>): void {
    this.#calls.finish(part)
  }

  /** Forgets the calls whose arguments are under way, by default all, and returns them: what follows of them is another call. */
  dropWritten(isMeant: (call: RunCall<T>) => boolean = () => true): RunCall<T>[] {
    const dropped = [...this.#written].filter(([, call]) => isMeant(call))
    for (const [key] of dropped) this.#written.delete(key)
    return dropped.map(([, call]) => call)
  }

  #write(part: NumberedPart & PartOf<'tool.call.delta'>): CallChange<T> {
    const key = toolCallKey(part)
    const written = this.#written.get(key)
    const call = written ?? this.#create(part)
    if (written === undefined) this.#written.set(key, call)
    return { call, isFirst: written === undefined, isWhole: false }
  }

  #begin(part: NumberedPart & (PartOf<'tool.call'> | PartOf<'tool.approval.request'>)): CallChange<T> {
    const key = toolCallKey(part)
    const written = this.#written.get(key)
    this.#written.delete(key)
    const call = written ?? this.#create(part)
    call.state = 'open'
    call.toolName = part.toolName
    call.isClient = part.type === 'tool.call' && part.runsAt === 'client'
    this.#calls.add(part, call)
    return { call, isFirst: written === undefined, isWhole: true }
  }

  #create(part: CallPart): RunCall<T> {
    const { toolName, source = [] } = part
    return {
      shown: this.#show(part),
      toolName,
      source,
      isClient: false,
      state: 'written',
      editedArgs: undefined,
      isDenied: false
    }
  }
}

function known<T>(call: RunCall<T> | undefined): CallChange<T> | undefined {
  return call && { call, isFirst: false, isWhole: false }
}
