import type { EarlierStep, EarlierWait } from '../../contract/journal.ts'
import type { NumberedPart } from '../../contract/part.ts'
import { toolCallKey } from '../../contract/tool-call-list.ts'

interface Wait {
  /** As in `toolCallKey`. */
  readonly call: string
  answered: boolean
}

/** What the log of a resumed run says about its steps, tool calls and waits. */
export class RecalledLog {
  readonly #steps = new Map<string, { attempt: number; ended: boolean }>()
  readonly #calls = new Set<string>()
  readonly #waits = new Map<string, Wait>()
  readonly #sources = new Set<string>()

  add(part: NumberedPart): void {
    if (part.source?.length) this.#sources.add(part.source.join('\u0000'))
    switch (part.type) {
      case 'step.start':
        this.#steps.set(stepKey(part.source, part.index), { attempt: part.attempt, ended: false })
        break
      case 'step': {
        const step = this.#steps.get(stepKey(part.source, part.index))
        if (step !== undefined) step.ended = true
        break
      }
      case 'tool.call':
        this.#calls.add(toolCallKey(part))
        break
      case 'tool.approval.request':
        this.#waits.set(part.approvalId, { call: toolCallKey(part), answered: false })
        break
      case 'tool.approval.response':
        this.#answer(part.approvalId)
        break
      case 'input.request': {
        const { inputId, toolCallId, source } = part
        const call = toolCallId === undefined ? '' : toolCallKey({ toolCallId, ...(source && { source }) })
        this.#waits.set(inputId, { call, answered: false })
        break
      }
      case 'input.response':
        this.#answer(part.inputId)
        break
      default:
    }
  }

  /** The ids of the approvals and inputs whose answer is in the log. */
  get answered(): ReadonlySet<string> {
    return new Set([...this.#waits].filter(([, { answered }]) => answered).map(([id]) => id))
  }

  step(source: readonly string[], index: number): EarlierStep | undefined {
    return this.#steps.get(stepKey(source, index))
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
    const key = source.join('\u0000')
    for (const each of this.#sources) if (each === key || each.startsWith(`${key}\u0000`)) return true
    return false
  }

  #answer(id: string): void {
    const wait = this.#waits.get(id)
    if (wait !== undefined) wait.answered = true
  }
}

function stepKey(source: readonly string[] = [], index: number): string {
  return [...source, index].join('\u0000')
}
