import type { NumberedPart, PartOf, ToolPart } from './part.ts'
import { isVoidedBy, toolCallKey, ToolCallList, type CallPlace } from './voidable-list.ts'

/** A part that may be the first of its call. */
export type CallPart = NumberedPart &
  (PartOf<'tool.call.delta'> | PartOf<'tool.call'> | PartOf<'tool.approval.request'>)

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
  add(part: ToolPart): CallChange<T> | undefined {
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
