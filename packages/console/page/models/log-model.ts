import { signal } from '@preact/signals'
import { idOfCall, type StreamedPart } from './run-items.ts'

/** A length of time in a run: a step, a call, a wait, or all of a member. */
export interface Span {
  readonly id: string
  readonly kind: 'member' | 'step' | 'tool' | 'wait'
  readonly label: string
  readonly source: readonly string[]
  /** The number of the part with which it began. */
  readonly seq: number
  /** Milliseconds since the epoch. */
  readonly from: number
  readonly to: number | undefined
  /** When a step had its first token. */
  readonly firstAt?: number | undefined
  readonly state: 'open' | 'done' | 'failed' | 'void'
}

/** The log of a run as it is, and the spans in it; `version` changes once per `push`. */
export class LogModel {
  readonly version = signal(0)
  readonly parts: StreamedPart[] = []
  readonly spans: Span[] = []
  hasMembers = false
  readonly #places = new Map<string, number>()
  // The current step of each source.
  readonly #steps = new Map<string, string>()

  /** Adds parts in the order of the log; those that it has are ignored, and those that no log keeps too. */
  push(parts: readonly StreamedPart[]): void {
    const last = this.parts.at(-1)?.seq ?? 0
    for (const part of parts) {
      if (part.seq === undefined || part.at === undefined || part.seq <= last) continue
      this.parts.push(part)
      this.#add(part, part.at, part.seq)
    }
    this.version.value++
  }

  /** When the run began, in milliseconds since the epoch. */
  get from(): number | undefined {
    return this.parts[0]?.at
  }

  /** When the last part was written. */
  get to(): number | undefined {
    return this.parts.at(-1)?.at
  }

  #add(part: StreamedPart, at: number, seq: number): void {
    const source = part.source ?? []
    const path = JSON.stringify(source)
    if (source.length > 0) this.#touchMember(source, path, at, seq)
    switch (part.type) {
      case 'step.start': {
        const before = this.#steps.get(path)
        if (part.attempt > 1 && before !== undefined) this.#change(before, { state: 'void', to: at })
        const id = `step ${path} ${part.index} ${part.attempt}`
        this.#steps.set(path, id)
        const attempt = part.attempt > 1 ? `, attempt ${part.attempt}` : ''
        const label = `Step ${part.index + 1}${attempt}${part.model === undefined ? '' : ` · ${part.model.modelId}`}`
        return this.#open({ id, kind: 'step', label, source, seq, from: at })
      }
      case 'step': {
        const id = this.#steps.get(path)
        const begun = id === undefined ? undefined : this.#find(id)
        if (begun === undefined) return
        const firstAt = part.firstTokenMs === undefined ? undefined : begun.from + part.firstTokenMs
        return this.#change(begun.id, { state: 'done', to: at, firstAt })
      }
      case 'tool.call':
        return this.#open({ id: idOfCall(part), kind: 'tool', label: part.toolName, source, seq, from: at })
      case 'tool.result':
        return this.#change(idOfCall(part), { state: 'done', to: at })
      case 'tool.error':
        return this.#change(idOfCall(part), { state: 'failed', to: at })
      case 'tool.approval.request': {
        const label = `Approval of ${part.toolName}`
        return this.#open({ id: part.approvalId, kind: 'wait', label, source, seq, from: at })
      }
      case 'tool.approval.response':
        return this.#change(part.approvalId, { state: part.approved ? 'done' : 'failed', to: at })
      case 'input.request': {
        const label = part.message ?? part.toolName ?? part.kind
        return this.#open({ id: part.inputId, kind: 'wait', label, source, seq, from: at })
      }
      case 'input.response':
        return this.#change(part.inputId, { state: part.action === 'accept' ? 'done' : 'failed', to: at })
      case 'finish':
      case 'error':
        if (source.length === 0) this.#endAll(at, part.type === 'error')
        return
      default:
        return
    }
  }

  #touchMember(source: readonly string[], path: string, at: number, seq: number): void {
    const id = `member ${path}`
    if (this.#places.has(id)) return this.#change(id, { to: at })
    this.hasMembers = true
    this.#open({ id, kind: 'member', label: source.at(-1)!, source: source.slice(0, -1), seq, from: at })
    this.#change(id, { state: 'done', to: at })
  }

  #endAll(at: number, hasFailed: boolean): void {
    for (const { id, state } of this.spans)
      if (state === 'open') this.#change(id, { to: at, state: hasFailed ? 'failed' : 'done' })
  }

  #open(span: Omit<Span, 'to' | 'state'>): void {
    this.#places.set(span.id, this.spans.push({ ...span, to: undefined, state: 'open' }) - 1)
  }

  #find(id: string): Span | undefined {
    const place = this.#places.get(id)
    return place === undefined ? undefined : this.spans[place]
  }

  #change(id: string, change: Partial<Pick<Span, 'to' | 'state' | 'firstAt'>>): void {
    const place = this.#places.get(id)
    if (place !== undefined) this.spans[place] = { ...this.spans[place]!, ...change }
  }
}
