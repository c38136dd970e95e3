import { GTW_ERR_TOKEN_EXPIRED, GTW_ERR_TOO_MANY_EVENTS, GTW_ERR_TOO_MANY_RUNS } from './errors.ts'

const SECOND = 1_000

/** The events that one connection may send. */
export class EventBudget {
  readonly #perSecond: number
  #since = 0
  #taken = 0

  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  /** Counts an event. @throws GTW_ERR_TOO_MANY_EVENTS when it is one too many in its second */
  take(now: number = performance.now()): void {
    if (now - this.#since >= SECOND) {
      this.#since = now
      this.#taken = 0
    }
    this.#taken++
    if (this.#taken > this.#perSecond) throw new GTW_ERR_TOO_MANY_EVENTS()
  }
}

const FATAL: readonly unknown[] = [
  new GTW_ERR_TOO_MANY_EVENTS().code,
  new GTW_ERR_TOO_MANY_RUNS().code,
  new GTW_ERR_TOKEN_EXPIRED().code
]

/** Whether an error is the end of the connection: it went past a limit, or its token is over. */
export function endsConnection({ code }: { code: string }): boolean {
  return FATAL.includes(code)
}
