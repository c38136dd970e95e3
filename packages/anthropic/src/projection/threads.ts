import { isWithin, sourceKey, type NumberedPart, type Usage, addUsage, ZERO_USAGE } from '@svc/contract'

/** One call of a member of a team, or of a step of a workflow: a thread of the session. */
export interface Thread {
  readonly id: string
  /** Undefined: the primary thread. */
  readonly parent: Thread | undefined
  readonly source: readonly string[]
  readonly name: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  updatedAt: number
  isRunning: boolean
  usage: Usage
  /** What it has said since its last step began. */
  texts: string[]
  structured: unknown
}

/** The threads of a run. A thread begins with the first part of its source, and ends with the `finish` or `error` of that. */
export class Threads {
  /** All of them, in the order in which they began. */
  readonly all: Thread[] = []
  readonly #open = new Map<string, Thread>()

  /** The thread of a part, and those that begin with it; undefined: the primary thread. */
  open(
    runId: string,
    { source = [], seq, at }: NumberedPart
  ): { thread: Thread | undefined; begun: Thread[] } {
    const begun: Thread[] = []
    let parent: Thread | undefined
    for (let depth = 1; depth <= source.length; depth++) {
      const place = source.slice(0, depth)
      const key = sourceKey(place)
      let thread = this.#open.get(key)
      if (thread === undefined) {
        const id = `sthr_${runId}_${seq}${depth > 1 ? `_${depth}` : ''}`
        const times = { createdAt: at, updatedAt: at }
        const name = place.at(-1)!
        const none = { usage: ZERO_USAGE, texts: [], structured: undefined }
        thread = { id, parent, source: place, name, ...times, isRunning: true, ...none }
        this.#open.set(key, thread)
        this.all.push(thread)
        begun.push(thread)
      }
      thread.updatedAt = at
      parent = thread
    }
    return { thread: parent, begun }
  }

  /** Ends the thread of a source, and what is within it, which comes first. */
  end(place: readonly string[]): Thread[] {
    const ended: Thread[] = []
    for (const [key, thread] of [...this.#open].toReversed()) {
      if (!isWithin(thread.source, place)) continue
      this.#open.delete(key)
      thread.isRunning = false
      ended.push(thread)
    }
    return ended
  }
}

/** Adds the tokens of a model request to its thread. */
export function countTokens(thread: Thread | undefined, usage: Usage | undefined): void {
  if (thread !== undefined) thread.usage = addUsage(thread.usage, usage)
}
