import type { NumberedPart } from '@svc/registry'
import { RunView } from '@svc/contract'
import type { WireRun } from './wire.ts'

/** The log of a run as far as it has been read. */
export class FollowedLog {
  readonly parts: NumberedPart[] = []
  readonly #view = new RunView()
  readonly #waits: number[] = []
  #lastStep = 0
  #waiting: { seq: number; resolve: (present: number) => void }[] = []
  #hasEnded = false

  add(part: NumberedPart): void {
    this.parts.push(part)
    this.#view.add(part)
    if (this.#view.isWaiting) this.#waits.push(part.seq)
    if (part.type === 'step.start' && !part.source?.length) this.#lastStep = part.seq
    this.#wake((seq) => seq < part.seq)
  }

  end(): void {
    this.#hasEnded = true
    this.#wake(() => true)
  }

  beyond(seq: number): Promise<number> {
    if (this.#hasEnded || this.#present > seq) return Promise.resolve(this.#present)
    return new Promise((resolve) => this.#waiting.push({ seq, resolve }))
  }

  progress(): ReturnType<WireRun['progress']> {
    return { waits: this.#waits, lastStep: this.#lastStep, isOver: this.#hasEnded }
  }

  /** Resolves once an input is answered, or the log has ended. */
  async answered(inputId: string): Promise<void> {
    const isAnswer = (part: NumberedPart) =>
      (part.type === 'tool.approval.response' && part.approvalId === inputId) ||
      (part.type === 'input.response' && part.inputId === inputId)
    while (!this.#hasEnded && !this.parts.some(isAnswer)) await this.beyond(this.#present)
  }

  get #present(): number {
    return this.parts.at(-1)?.seq ?? 0
  }

  #wake(isPast: (seq: number) => boolean): void {
    const woken = this.#waiting.filter(({ seq }) => isPast(seq))
    this.#waiting = this.#waiting.filter(({ seq }) => !isPast(seq))
    for (const { resolve } of woken) resolve(this.#present)
  }
}
