import type { Awaitable } from './awaitable.ts'

/** The time in which a key is counted. */
export interface CounterWindow {
  /** Milliseconds, from the first count. */
  readonly length: number
  /** Counts beyond this extend the window; default: none do. */
  readonly max?: number | undefined
  /** How: `restart` begins the window again, `double` also makes it twice as long each time. Default `restart`. */
  readonly extension?: 'restart' | 'double' | undefined
}

/** The state of a key. */
export interface Counted {
  /** This count included. */
  readonly count: number
  /** Milliseconds until the window ends. */
  readonly left: number
}

/** Counts over all processes, such as the requests of a caller. Counts may get lost in a crash of the store. */
export interface CounterStore {
  /** Adds 1 to the count of a key, any text; the first count after its window has ended begins a new one. */
  increment(key: string, window: CounterWindow): Awaitable<Counted>
}
