import { RUN_ERR_BAD_INPUT, type ApprovalAnswer, type InputAnswer, type RequestedInput } from '@svc/contract'
import { isAnswered, sendError, type CallScope } from './call-scope.ts'

interface Open {
  readonly id: string
  readonly isApproval: boolean
}

/** What an answer waits for from the user: approvals, and questions of its tools. They are asked aloud, and answered by voice. */
export class Questions {
  readonly #scope: CallScope
  readonly #say: (text: string) => void
  readonly #open: Open[] = []

  /** @param say speaks a text of the call */
  constructor(scope: CallScope, say: (text: string) => void) {
    this.#scope = scope
    this.#say = say
  }

  /** True while the user is asked. */
  get isWaiting(): boolean {
    return this.#open.length > 0
  }

  /** Asks, until there is an answer over any wire. */
  ask({ request, settled }: RequestedInput): void {
    if (request.type === 'input.request') {
      if (request.kind === 'tool') return
      // Credentials must not be spoken: the client answers over a wire.
      if (request.kind === 'question') this.#wait({ id: request.inputId, isApproval: false }, settled)
      this.#say(request.message ?? '')
      return
    }
    const { approvalId, toolName, args } = request
    this.#wait({ id: approvalId, isApproval: true }, settled)
    void this.#scope.link.send({ type: 'approval', approvalId, toolName, args })
    this.#say(this.#scope.plan.tools.question({ toolName, args }))
  }

  /** Takes what the user says; false if it answers no question. An approval is answered by exactly yes or no. */
  take(words: string): boolean {
    const [first] = this.#open
    if (first === undefined) return false
    if (!first.isApproval) {
      this.#answer(first, { action: 'accept', content: words })
      return true
    }
    const { yes, no } = this.#scope.plan.tools
    const word = toWord(words)
    if (!yes.has(word) && !no.has(word)) return false
    this.#answer(first, yes.has(word) ? { approved: true } : { approved: false, reason: words })
    return true
  }

  #wait(open: Open, settled: Promise<void>): void {
    this.#open.push(open)
    void settled.then(() => this.#remove(open))
  }

  #answer(open: Open, answer: ApprovalAnswer | InputAnswer): void {
    this.#remove(open)
    this.#scope.link.answer(open.id, answer).catch((err: unknown) => {
      if (isAnswered(err)) return
      sendError(this.#scope, err)
      // The run waits on for an answer that fits.
      if (err instanceof RUN_ERR_BAD_INPUT) this.#open.unshift(open)
    })
  }

  #remove(open: Open): void {
    const index = this.#open.indexOf(open)
    if (index !== -1) this.#open.splice(index, 1)
  }
}

/** A word as it is compared: without case and punctuation. */
export function toWord(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s]/gu, '')
    .trim()
}
