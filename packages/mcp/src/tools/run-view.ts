import {
  isTerminalPart,
  RunActivity,
  RunResultBuilder,
  type NumberedPart,
  type Part,
  type PartError,
  type RunResult
} from '@svc/contract'
import { toElicitation, type CredentialsPage, type Elicitation } from '../inputs/elicitation.ts'

/** What a run has said so far, and what it waits for. */
export class RunView {
  readonly #result = new RunResultBuilder()
  readonly #activity = new RunActivity()
  #error: PartError | undefined
  #ended = false
  #seq = 0
  readonly #page: CredentialsPage | undefined

  /** @param page where the user gives credentials, if the client opens pages */
  constructor(page?: CredentialsPage) {
    this.#page = page
  }

  add(part: Part | NumberedPart): void {
    this.#result.add(part)
    this.#activity.add(part)
    if ('seq' in part) this.#seq = part.seq
    if (!isTerminalPart(part)) return
    this.#ended = true
    if (part.type === 'error') this.#error = part.error
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Why the run failed. */
  get error(): PartError | undefined {
    return this.#error
  }

  /** The `seq` of the last part read. */
  get seq(): number {
    return this.#seq
  }

  get result(): RunResult {
    return this.#result.build()
  }

  /** True if the run waits for inputs and for nothing else. */
  get isWaiting(): boolean {
    return this.#activity.isWaiting
  }

  /** The elicitations for what the run waits for, by the ids of the inputs. */
  get elicitations(): Record<string, Elicitation> {
    const forms: Record<string, Elicitation> = {}
    for (const [inputId, part] of this.#activity.pending) {
      const form = toElicitation(part, this.#page)
      if (form !== undefined) forms[inputId] = form
    }
    return forms
  }
}
