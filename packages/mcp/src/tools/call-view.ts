import { RunResultBuilder, RunView, type NumberedPart, type RunResult } from '@svc/contract'
import { toElicitation, type CredentialsPage, type Elicitation } from '../inputs/elicitation.ts'

/** The run of a call so far: what it has said, and what it waits for. */
export class CallView extends RunView {
  readonly #result = new RunResultBuilder()
  readonly #page: CredentialsPage | undefined

  /** @param page where the user gives credentials, if the client opens pages */
  constructor(page?: CredentialsPage) {
    super()
    this.#page = page
  }

  override add(part: NumberedPart): void {
    super.add(part)
    this.#result.add(part)
  }

  get result(): RunResult {
    return this.#result.build()
  }

  /** The elicitations for what the run waits for, by the ids of the inputs. */
  get elicitations(): Record<string, Elicitation> {
    const forms: Record<string, Elicitation> = {}
    for (const [inputId, part] of this.pending) {
      const form = toElicitation(part, this.#page)
      if (form !== undefined) forms[inputId] = form
    }
    return forms
  }
}
