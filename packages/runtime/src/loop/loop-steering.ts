import type { Steering } from '@svc/contract'
import type { Turn } from '../sessions/turn.ts'
import type { LoopJournal } from './loop-journal.ts'

/** The messages that join a run, as its loop reads them: before a step, and the same ones again when the step is replayed. */
export class LoopSteering {
  readonly #steering: Steering | undefined
  readonly #turn: Turn

  constructor(steering: Steering | undefined, turn: Turn) {
    this.#steering = steering
    this.#turn = turn
  }

  /** How many were read so far. */
  get taken(): number {
    return this.#steering?.taken ?? 0
  }

  /** Reads what has joined; after the last step nothing could. */
  read(isLast: boolean): void {
    if (this.#steering === undefined) return
    for (const { message } of this.#steering.take()) this.#turn.join(message)
    if (isLast) this.#steering.close()
  }

  /** Reads what the step had read that an earlier process recorded. */
  recall({ steered, isRecorded }: LoopJournal, index: number): void {
    const steers = this.#steering?.take(steered) ?? []
    // The beginning of a turn is recorded with what its first step read.
    if (index === 0 && isRecorded) return
    for (const { message } of steers) this.#turn.join(message)
  }

  /** As `Steering.close`. */
  close(): boolean {
    return this.#steering?.close() ?? true
  }
}
