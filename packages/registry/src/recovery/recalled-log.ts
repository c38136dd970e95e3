import {
  toolCallKey,
  type EarlierAnswer,
  type EarlierWait,
  type NumberedPart,
  type PartOf,
  type Steer
} from '@svc/contract'
import { steerOf } from '../turns/steering.ts'

interface Wait {
  /** As in `toolCallKey`. */
  readonly call: string
  answered: boolean
}

/** The steps of one place that have not ended: of several calls of one member. */
interface OpenSteps {
  /** The last one's. */
  attempt: number
  open: number
}

/** What the log of a resumed run says about its steps, tool calls and waits. */
export class RecalledLog {
  readonly #steps = new Map<string, OpenSteps>()
  readonly #calls = new Set<string>()
  readonly #waits = new Map<string, Wait>()
  readonly #sources = new Set<string>()
  readonly #answer = new AnswerBuilder()
  readonly #steers: Steer[] = []

  add(part: NumberedPart): void {
    if (part.type !== 'start') this.#sources.add((part.source ?? []).join('\u0000'))
    if (!part.source?.length) this.#answer.add(part)
    switch (part.type) {
      case 'step.start':
        this.#beginStep(part)
        break
      case 'step': {
        const steps = this.#steps.get(stepKey(part.source, part.index))
        if (steps !== undefined) steps.open--
        break
      }
      case 'tool.call':
        this.#calls.add(toolCallKey(part))
        break
      case 'tool.approval.request':
        this.#waits.set(part.approvalId, { call: toolCallKey(part), answered: false })
        break
      case 'tool.approval.response':
        this.#answered(part.approvalId)
        break
      case 'input.request': {
        const { inputId, toolCallId, source } = part
        const call = toolCallId === undefined ? '' : toolCallKey({ toolCallId, ...(source && { source }) })
        this.#waits.set(inputId, { call, answered: false })
        break
      }
      case 'input.response':
        this.#answered(part.inputId)
        break
      case 'data': {
        const steer = steerOf(part)
        if (steer !== undefined) this.#steers.push(steer)
        break
      }
      default:
    }
  }

  /** The ids of the approvals and inputs whose answer is in the log. */
  get answered(): ReadonlySet<string> {
    return new Set([...this.#waits].filter(([, { answered }]) => answered).map(([id]) => id))
  }

  /** The messages that joined the run. */
  get steers(): readonly Steer[] {
    return this.#steers
  }

  /** As in `Journal`. */
  takeAttempt(source: readonly string[], index: number): number {
    const steps = this.#steps.get(stepKey(source, index))
    if (steps === undefined || steps.open <= 0) return 0
    steps.open--
    return steps.attempt
  }

  /** As in `Journal`. */
  answer(index: number): EarlierAnswer | undefined {
    return this.#answer.build(index)
  }

  hasCall(source: readonly string[], toolCallId: string): boolean {
    return this.#calls.has(toolCallKey({ toolCallId, source: [...source] }))
  }

  /** What a call and those it made waited for last. */
  wait(source: readonly string[], toolCallId: string): EarlierWait {
    const key = toolCallKey({ toolCallId, source: [...source] })
    let found: EarlierWait = 'none'
    for (const { call, answered } of this.#waits.values()) {
      if (call !== key && !call.startsWith(`${key}.`)) continue
      if (!answered) return 'waiting'
      found = 'answered'
    }
    return found
  }

  /** True if it has parts of this source, or of one within. */
  hasSource(source: readonly string[]): boolean {
    if (source.length === 0) return this.#sources.size > 0
    const key = source.join('\u0000')
    for (const each of this.#sources) if (each === key || each.startsWith(`${key}\u0000`)) return true
    return false
  }

  #beginStep({ source, index, attempt }: PartOf<'step.start'>): void {
    const key = stepKey(source, index)
    const steps = this.#steps.get(key)
    if (steps === undefined) this.#steps.set(key, { attempt, open: 1 })
    else {
      if (attempt === 1 || steps.open === 0) steps.open++
      steps.attempt = attempt
    }
  }

  #answered(id: string): void {
    const wait = this.#waits.get(id)
    if (wait !== undefined) wait.answered = true
  }
}

/** Collects the last answer of a run's own model. */
class AnswerBuilder {
  #index: number | undefined
  #text = ''
  #end: PartOf<'step'> | undefined
  #isStructured = false

  add(part: NumberedPart): void {
    if (part.type === 'step.start') {
      this.#index = part.index
      this.#text = ''
      this.#end = undefined
      this.#isStructured = false
    } else if (part.type === 'text') this.#text += part.text
    else if (part.type === 'step') this.#end = part
    else if (part.type === 'structured') this.#isStructured = true
  }

  build(index: number): EarlierAnswer | undefined {
    if (this.#end === undefined || this.#index !== index) return undefined
    const { usage, finishReason = 'other' } = this.#end
    return { text: this.#text, usage, finishReason, isStructured: this.#isStructured }
  }
}

function stepKey(source: readonly string[] = [], index: number): string {
  return [...source, index].join('\u0000')
}
