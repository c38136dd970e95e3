import { addUsage, ZERO_USAGE, type NumberedPart, type PartOf, type Usage } from './part.ts'
import { isWithin, sourceKey, toolCallKey } from './run-calls.ts'

/** A part that asks for an input. */
export type AskingPart = PartOf<'tool.approval.request'> | PartOf<'input.request'>

interface OpenCall {
  readonly source: readonly string[]
  readonly parent: string | undefined
}

/**
 * Where a run stands, as far as its log shows: its beginning and end, the tokens of its steps, what it waits for, and whether it is under way
 * or only waits. A model step that has begun and not ended is under way, and so is a tool call without an outcome, unless it or a call
 * within it waits. A wire that ends its answer where a run waits ends it here, so that an answer has all that several parallel calls ask for.
 */
export class RunView {
  /** The place of the last part; 0 before the first. */
  seq = 0
  /** Milliseconds since the epoch, of the last part. */
  at = 0
  start: (NumberedPart & PartOf<'start'>) | undefined
  end: (NumberedPart & PartOf<'finish' | 'error'>) | undefined
  usage: Usage = ZERO_USAGE
  readonly #steps = new Set<string>()
  readonly #calls = new Map<string, OpenCall>()
  readonly #pending = new Map<string, AskingPart>()

  /** What the run waits for, by the ids of the inputs; the id of an approval is its `approvalId`. */
  get pending(): ReadonlyMap<string, AskingPart> {
    return this.#pending
  }

  /** True if the run waits for inputs and for nothing else. */
  get isWaiting(): boolean {
    if (this.#pending.size === 0 || this.#steps.size > 0) return false
    const blocked = this.#blocked()
    for (const [key, { source }] of this.#calls) if (!blocked.has(key) && !this.#isAbove(source)) return false
    return true
  }

  add(part: NumberedPart): void {
    // A transient part has no place.
    if (part.seq > 0) this.seq = part.seq
    this.at = part.at
    switch (part.type) {
      case 'start':
        if (!part.source?.length) this.start = part
        break
      case 'step.start':
        this.#steps.add(sourceKey(part.source ?? []))
        this.#dropCalls(part.source ?? [])
        break
      case 'step':
        this.#steps.delete(sourceKey(part.source ?? []))
        this.usage = addUsage(this.usage, part.usage)
        break
      case 'compaction':
        this.usage = addUsage(this.usage, part.usage)
        break
      case 'tool.call':
        if (part.providerExecuted !== true) this.#calls.set(toolCallKey(part), toOpenCall(part))
        break
      case 'tool.result':
      case 'tool.error':
        this.#calls.delete(toolCallKey(part))
        break
      case 'tool.approval.request':
        this.#pending.set(part.approvalId, part)
        break
      case 'input.request':
        this.#pending.set(part.inputId, part)
        break
      case 'tool.approval.response':
        this.#pending.delete(part.approvalId)
        break
      case 'input.response':
        this.#pending.delete(part.inputId)
        break
      case 'finish':
      case 'error':
        this.#end(part.source ?? [])
        if (!part.source?.length) this.end = part
        if (this.end?.type === 'finish') this.usage = this.end.usage
        break
      default:
    }
  }

  // Calls that wait, and those that made them.
  #blocked(): ReadonlySet<string> {
    const blocked = new Set<string>()
    for (const { toolCallId, source } of this.#pending.values()) {
      let key = toolCallId === undefined ? undefined : toolCallKey({ toolCallId, source })
      while (key !== undefined && !blocked.has(key)) {
        blocked.add(key)
        key = this.#calls.get(key)?.parent
      }
    }
    return blocked
  }

  // True if an input is of a member that runs within this place, or of an unnamed call at the place itself.
  #isAbove(place: readonly string[]): boolean {
    for (const { toolCallId, source = [] } of this.#pending.values())
      if (isWithin(source, place) && (source.length > place.length || toolCallId === undefined)) return true
    return false
  }

  // A place that begins a step has no call left of the step before.
  #dropCalls(place: readonly string[]): void {
    if (this.#calls.size === 0) return
    for (const [key, { source }] of this.#calls)
      if (source.length === place.length && isWithin(source, place)) this.#calls.delete(key)
  }

  #end(place: readonly string[]): void {
    this.#steps.delete(sourceKey(place))
    for (const [key, { source }] of this.#calls) if (isWithin(source, place)) this.#calls.delete(key)
    // A cancellation leaves inputs without an answer.
    for (const [id, { source = [] }] of this.#pending) if (isWithin(source, place)) this.#pending.delete(id)
  }
}

function toOpenCall({ source = [], parentToolCallId }: PartOf<'tool.call'>): OpenCall {
  return {
    source,
    parent: parentToolCallId && toolCallKey({ toolCallId: parentToolCallId, source })
  }
}
