import type { CallPart, CallsPart, NumberedPart, PartOf, RunStatus, Usage } from '@svc/contract'
import { RunCalls, sourceKey, VoidableList } from '@svc/contract/run-calls'
import { signal } from '@preact/signals'
import { idOfCall, type RunItem, type StreamedPart, type TextItem, type ToolItem } from './run-items.ts'

/**
 * Folds the log of a run into what a view shows. Items are never changed: a changed one is another object, so that views compare them by
 * identity. `version` changes once per `push`.
 */
export class RunModel {
  readonly runId: string
  readonly version = signal(0)
  items: RunItem[] = []
  status: RunStatus = 'submitted'
  start: PartOf<'start'> | undefined
  /** What the visitor has just asked here, until the log says it; files still serve to show them, and to send them again. */
  asked: { readonly input: unknown; readonly files?: readonly File[] | undefined } | undefined
  /** It is a call: its input is how it was set up. */
  isCall = false
  startedAt: number | undefined
  endedAt: number | undefined
  usage: Usage | undefined
  finish: PartOf<'finish'> | undefined
  error: PartOf<'error'>['error'] | undefined
  /** The number of runs before this one, while it waits for its turn. */
  queuePosition: number | undefined
  lastSeq = 0
  readonly #places = new Map<string, number>()
  // The ids of all items that the log has not voided.
  readonly #valid = new VoidableList<string>()
  // The id of the last item of each source in its current step.
  readonly #last = new Map<string, string>()
  readonly #calls = new RunCalls((part) => this.#newTool(part))
  readonly #uses = new Map<string, number>()
  readonly #waiting = new Set<string>()
  #counter = 0
  // The number of the first item of the turn of a call.
  #turn = 0

  constructor(runId: string) {
    this.runId = runId
  }

  get isOver(): boolean {
    return this.status === 'completed' || this.status === 'failed' || this.status === 'canceled'
  }

  /** Adds parts in the order of the log; parts that it has are ignored. */
  push(parts: readonly StreamedPart[]): void {
    for (const part of parts) {
      if (part.seq !== undefined) {
        if (part.seq <= this.lastSeq) continue
        this.lastSeq = part.seq
      }
      const { seq = 0, at = Date.now() } = part
      this.#add({ ...part, seq, at }, at)
    }
    // Another list for views that compare it.
    this.items = [...this.items]
    this.version.value++
  }

  /** Notes how the run stands, as a record has it; a log that is read knows it better. */
  noteStatus(status: RunStatus): void {
    if (this.lastSeq > 1) return
    this.status = status
    this.version.value++
  }

  #add(part: NumberedPart, at: number): void {
    const source = part.source ?? []
    if (part.type !== 'start' && part.type !== 'data' && this.status === 'submitted') this.status = 'working'
    switch (part.type) {
      case 'start':
        if (source.length > 0) return
        this.start = part
        this.startedAt = at
        this.status = part.queued ? 'submitted' : 'working'
        return
      case 'text':
      case 'reasoning':
        return this.#addText(part, source, at)
      case 'tool.approval.request':
        this.#wait(part.approvalId)
        return this.#addToCall(part)
      case 'tool.approval.response':
        this.#resume(part.approvalId)
        return this.#addToCall(part)
      case 'tool.call.delta':
      case 'tool.call':
      case 'tool.result':
      case 'tool.error':
        return this.#addToCall(part)
      case 'input.request':
        this.#wait(part.inputId)
        return this.#put({ kind: 'input', id: part.inputId, source, at, request: part, response: undefined })
      case 'input.response': {
        this.#resume(part.inputId)
        const item = this.#find(part.inputId)
        if (item?.kind === 'input') this.#put({ ...item, response: part })
        return
      }
      case 'step.start':
        return this.#beginStep(part, source)
      case 'file':
      case 'citation':
      case 'structured':
      case 'compaction':
        return this.#put({ kind: part.type, id: this.#newId(part), source, at, part })
      case 'browser.page':
        return this.#put({ kind: 'page', id: this.#newId(part), source, at, part })
      case 'voice.transcript':
        this.isCall = true
        return this.#put({ kind: 'heard', id: `heard-${part.itemId}`, source, at, text: part.text })
      case 'voice.turn':
        return this.#endVoiceTurn(part)
      case 'data':
        return this.#addData(part, source, at)
      case 'error':
        this.#put({ kind: 'error', id: this.#newId(part), source, at, error: part.error })
        if (source.length > 0) return
        this.error = part.error
        return this.#end('failed', at)
      case 'finish':
        if (source.length > 0) return this.#finishMember(part)
        this.finish = part
        this.usage = part.usage
        return this.#end(part.finishReason === 'canceled' ? 'canceled' : 'completed', at)
      default:
        // Steps, parts of calls, and types that are not known.
        return
    }
  }

  // Members that write at the same time keep their own items within a step.
  #addText({ type, text }: PartOf<'text' | 'reasoning'>, source: readonly string[], at: number): void {
    const last = this.#find(this.#last.get(sourceKey(source)) ?? '')
    const isOpen = last?.kind === type && (source.length > 0 || last === this.items.at(-1))
    if (isOpen) this.#put({ ...last, text: (last as TextItem).text + text })
    else this.#put({ kind: type, id: `${type}-${this.#counter++}`, source, at, text })
  }

  // An attempt over 1 voids what the earlier one has said.
  #beginStep(part: PartOf<'step.start'>, source: readonly string[]): void {
    this.#last.delete(sourceKey(source))
    this.#valid.begin(part)
    this.#calls.begin(part)
    if (part.attempt <= 1) return
    const valid = new Set(this.#valid.values)
    // A prompt that was refused is compacted for the next attempt.
    const stays = ({ id, kind, source: of }: RunItem) =>
      valid.has(id) || (kind === 'compaction' && of.length === 0)
    this.items = this.items.filter(stays)
    this.#index()
  }

  #finishMember(part: PartOf<'finish'>): void {
    this.#valid.finish(part)
    this.#calls.finish(part)
  }

  // What was spoken of an answer stands for all its increments.
  #endVoiceTurn({ text, status }: PartOf<'voice.turn'>): void {
    this.isCall = true
    // The words of the user were lost: there is no answer.
    if (status === 'failed' && text === '') return
    const isOfTurn = ({ id, kind }: RunItem) => kind === 'text' && Number(id.split('-')[1]) >= this.#turn
    const first = this.items.find(isOfTurn)
    const isCut = status === 'interrupted'
    this.items = this.items.filter((item) => item === first || !isOfTurn(item))
    this.#index()
    if (first?.kind === 'text') this.#put({ ...first, text, isCut })
    this.#turn = this.#counter
  }

  #addData(part: PartOf<'data'>, source: readonly string[], at: number): void {
    if (part.name === 'queue') {
      const { position } = (part.value ?? {}) as { position?: number }
      this.queuePosition = position
      return
    }
    if (part.transient) return
    this.#put({ kind: part.name === 'steer' ? 'steer' : 'data', id: this.#newId(part), source, at, part })
  }

  #addToCall(part: CallsPart): void {
    const { call } = this.#calls.add(part) ?? {}
    if (call === undefined) return
    const found = this.#find(call.shown.id)
    const tool = found?.kind === 'tool' ? found : call.shown
    this.#put({ ...tool, ...changeOf(part, tool) })
  }

  #newTool(part: CallPart): ToolItem {
    const { toolCallId, toolName, parentToolCallId, source = [], at } = part
    const called = idOfCall(part)
    // Models number their calls, so that a later step may use the id of an earlier one.
    const uses = (this.#uses.get(called) ?? 0) + 1
    this.#uses.set(called, uses)
    return {
      kind: 'tool',
      id: uses === 1 ? called : `${called} ${uses}`,
      source,
      at,
      toolCallId,
      toolName,
      parentToolCallId,
      isOfClient: false,
      draft: '',
      args: undefined,
      state: 'drafted',
      result: undefined,
      error: undefined,
      durationMs: undefined,
      approval: undefined
    }
  }

  #newId(part: StreamedPart): string {
    return `${part.type}-${this.#counter++}`
  }

  #find(id: string): RunItem | undefined {
    const place = this.#places.get(id)
    return place === undefined ? undefined : this.items[place]
  }

  #put(item: RunItem): void {
    const place = this.#places.get(item.id)
    if (place !== undefined) {
      this.items[place] = item
      return
    }
    this.#places.set(item.id, this.items.push(item) - 1)
    this.#valid.add(item, item.id)
    this.#last.set(sourceKey(item.source), item.id)
  }

  #index(): void {
    this.#places.clear()
    for (const [at, { id }] of this.items.entries()) this.#places.set(id, at)
  }

  #wait(id: string): void {
    this.#waiting.add(id)
    this.status = 'input-required'
  }

  #resume(id: string): void {
    this.#waiting.delete(id)
    if (this.#waiting.size === 0) this.status = 'working'
  }

  #end(status: RunStatus, at: number): void {
    this.status = status
    this.endedAt = at
    this.queuePosition = undefined
    this.#waiting.clear()
  }
}

/** What a part changes of its call. */
function changeOf(part: CallsPart, { draft, approval }: ToolItem): Partial<ToolItem> {
  switch (part.type) {
    case 'tool.call.delta':
      return { draft: draft + part.delta }
    case 'tool.call':
      return { args: part.args, draft: '', state: 'called', isOfClient: part.runsAt === 'client' }
    case 'tool.approval.request': {
      const { approvalId, args, expiresAt } = part
      return { approval: { approvalId, args, expiresAt, answer: undefined } }
    }
    case 'tool.approval.response': {
      const { approved, reason, args } = part
      const answered = approval && { ...approval, answer: { approved, reason } }
      return { approval: answered, ...(args !== undefined && { args }) }
    }
    case 'tool.result':
      return { state: 'done', result: part.result, durationMs: part.durationMs }
    default:
      return { state: 'failed', error: part.error }
  }
}
