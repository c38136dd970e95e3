import {
  GTW_ERR_PAYLOAD_TOO_LARGE,
  GTW_ERR_TOKEN_EXPIRED,
  GTW_ERR_TOO_MANY_EVENTS,
  GTW_ERR_TOO_MANY_RUNS
} from './errors.ts'

const SECOND = 1_000

/** The packets that one connection may send. */
export class EventBudget {
  readonly #perSecond: number
  #since = 0
  #taken = 0

  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  /** Counts a packet; false where it is one too many in its second. */
  take(now: number = performance.now()): boolean {
    if (now - this.#since >= SECOND) {
      this.#since = now
      this.#taken = 0
    }
    return ++this.#taken <= this.#perSecond
  }
}

const FATAL: readonly unknown[] = [
  new GTW_ERR_PAYLOAD_TOO_LARGE().code,
  new GTW_ERR_TOO_MANY_EVENTS().code,
  new GTW_ERR_TOO_MANY_RUNS().code,
  new GTW_ERR_TOKEN_EXPIRED().code
]

/** Whether an error is the end of the connection: it went past a limit, or its token is over. */
export function endsConnection({ code }: { code: string }): boolean {
  return FATAL.includes(code)
}
