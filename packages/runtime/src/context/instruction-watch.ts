import { createHash } from 'node:crypto'
import type { RunContext } from '@svc/contract'

const MAX_SESSIONS = 1_000

/**
 * Notices that the instructions of an agent differ from turn to turn of a session, so that no provider can take its prompts from a cache.
 * Says so once.
 */
export class InstructionWatch {
  // The digest of the instructions of the last turn, by session; the session that was used last stands at the end.
  readonly #last = new Map<string, string>()
  #isTold = false

  notice(subject: string, instructions: string, { sessionOwner, sessionId, runId, log }: RunContext): void {
    if (this.#isTold) return
    const session = JSON.stringify([sessionOwner, sessionId])
    const digest = createHash('sha256').update(instructions).digest('base64')
    const before = this.#last.get(session)
    if (before !== undefined && before !== digest) {
      this.#isTold = true
      this.#last.clear()
      log.warn(
        { runId },
        `${subject}: its instructions differ from turn to turn, so that its prompts are not cached; put what changes into \`situation\``
      )
      return
    }
    this.#last.delete(session)
    this.#last.set(session, digest)
    if (this.#last.size > MAX_SESSIONS) this.#last.delete(this.#last.keys().next().value!)
  }
}
