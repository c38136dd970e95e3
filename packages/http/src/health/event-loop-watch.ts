import { monitorEventLoopDelay, performance } from 'node:perf_hooks'

/** How busy the event loop of the process was. Delays are milliseconds. */
export interface EventLoopReport {
  /** The share of the time in which it was at work: 0–1. */
  readonly utilization: number
  readonly delayMs: { readonly p50: number; readonly p99: number; readonly max: number }
}

// Milliseconds.
const RESOLUTION = 50
const WINDOW = 10_000
const NANOSECONDS = 1_000_000

/** Measures the event loop, in windows of ten seconds. */
export class EventLoopWatch {
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION })
  readonly #timer: NodeJS.Timeout
  #start = performance.eventLoopUtilization()
  #last: EventLoopReport | undefined

  constructor() {
    this.#delay.enable()
    this.#timer = setInterval(() => {
      this.#last = this.#read()
      this.#start = performance.eventLoopUtilization()
      this.#delay.reset()
    }, WINDOW).unref()
  }

  /** The last window; the present one until then. */
  get report(): EventLoopReport {
    return this.#last ?? this.#read()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#delay.disable()
  }

  #read(): EventLoopReport {
    const { utilization } = performance.eventLoopUtilization(this.#start)
    const { max } = this.#delay
    const [p50, p99] = [50, 99].map((percent) => toDelay(this.#delay.percentile(percent)))
    const delayMs = { p50: p50!, p99: p99!, max: toDelay(max) }
    return { utilization: Math.round(utilization * 1_000) / 1_000, delayMs }
  }
}

// Whole milliseconds by which a timer was late, from the nanoseconds between its calls.
function toDelay(nanoseconds: number): number {
  return Math.max(0, Math.round(nanoseconds / NANOSECONDS) - RESOLUTION)
}
