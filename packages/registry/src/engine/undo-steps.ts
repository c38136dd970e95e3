import { toLoggable, type Awaitable, type RunLog } from '@svc/contract'
import { isReported } from '../stores/upkeep/store-watch.ts'

/** What the steps of a start have done so far, and how each is undone. */
export class UndoSteps {
  readonly #log: RunLog
  readonly #undo: (() => Awaitable<void>)[] = []

  constructor(log: RunLog) {
    this.#log = log
  }

  /** A step was done. */
  add(undo: () => Awaitable<void>): void {
    this.#undo.push(undo)
  }

  /** Nothing is to be undone any more. */
  none(): void {
    this.#undo.length = 0
  }

  /** Undoes all steps, the last one first; one that cannot be undone does not keep the others. Returns what it is given. */
  async all<T = void>(given?: T): Promise<T> {
    for (let undo; (undo = this.#undo.pop()) !== undefined;) {
      try {
        await undo()
      } catch (err) {
        if (!isReported(err)) this.#log.error({ err: toLoggable(err) }, 'a refused start could not be undone')
      }
    }
    return given as T
  }
}
