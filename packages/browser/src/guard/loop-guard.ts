/** Why a run makes no progress, in words for the model; `isOver` if it must end. */
export interface LoopVerdict {
  readonly text: string
  readonly isOver: boolean
}

const WINDOW = 20
const WARN_AT = 3
const END_AT = 5

/** Notices when a model repeats itself without effect, or fails again and again. */
export class LoopGuard {
  readonly #recent: string[] = []
  #failures = 0

  /** Counts an action by its name and arguments, and by the hash of the page that it led to. */
  acted(action: string, args: unknown, hash: string): LoopVerdict | undefined {
    this.#failures = 0
    const key = JSON.stringify([action, args, hash])
    this.#recent.push(key)
    if (this.#recent.length > WINDOW) this.#recent.shift()
    const count = this.#recent.filter((each) => each === key).length
    if (count < WARN_AT) return undefined
    const text = `The same action led to the same page ${count} times.`
    if (count >= END_AT) return { text: `${text} The run ends here.`, isOver: true }
    return { text: `${text} Try something else, or answer with what you know.`, isOver: false }
  }

  /** Counts an action that failed. */
  failed(): LoopVerdict | undefined {
    this.#failures++
    if (this.#failures < END_AT) return undefined
    return { text: `${this.#failures} actions in a row failed. The run ends here.`, isOver: true }
  }
}
