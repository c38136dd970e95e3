import { jsonReply } from '@svc/surface'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { RunEngine } from '@svc/surface'
import { toFault } from '../errors/to-error-body.ts'
import { describeOperation, errorReplies } from '../openapi/describe-operation.ts'
import { HealthReportSchema, type HealthReport } from '../schemas/health.ts'
import type { HttpScope, Surface } from '../surface.ts'

// Waiting runs that are counted.
const MAX_WAITING = 100

const schema = {
  ...describeOperation(
    'get-health',
    'How this process is doing',
    'The event loop is measured in windows of ten seconds. With several processes, each answers for itself.'
  ),
  tags: ['Admin'],
  response: { 200: jsonReply('The report', HealthReportSchema), ...errorReplies(500) }
}

/** `GET /admin/health`: the event loop, memory, runs and errors of the process. */
export function adminHealthRoutes(scope: HttpScope, { runs, exposed }: Surface): void {
  const loop = new EventLoopWatch()
  const errors = new ErrorCounts()
  const off = runs.events.on('run.error', ({ error }) => errors.add(error.code))
  scope.addHook('onError', (_request, _reply, err, done) => {
    errors.add(toFault(err).code)
    done()
  })
  scope.addHook('onClose', async () => {
    off()
    loop.close()
  })

  scope.get(
    '/admin/health',
    { schema, config: { access: 'authenticated' } },
    async (): Promise<HealthReport> => {
      const waiting = await countWaiting()
      const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
      return {
        status: statusOf(runs),
        uptime: Math.round(process.uptime()),
        eventLoop: loop.report,
        memory: { rss, heapUsed, heapTotal, external },
        runs: { active: runs.active, ...(waiting !== undefined && { waiting }) },
        errors: errors.list().map((each) => ({ ...each, lastAt: new Date(each.lastAt).toISOString() }))
      }
    }
  )

  // Undefined while the store is away, which is when the rest of the report is wanted.
  async function countWaiting(): Promise<number | undefined> {
    try {
      const waiting = await runs.list({ status: 'submitted', scope: exposed.scope(), limit: MAX_WAITING })
      return waiting.runs.length
    } catch {
      return undefined
    }
  }
}

function statusOf({ draining, recovering, stores }: RunEngine): HealthReport['status'] {
  if (draining) return 'draining'
  if (recovering) return 'recovering'
  return stores.lease?.held === false ? 'no-lease' : 'ok'
}

/** How often an error occurred. */
export interface ErrorCount {
  readonly code: string
  readonly count: number
  /** Milliseconds since the epoch. */
  readonly lastAt: number
}

// Codes may come from apps and their tools.
const MAX_CODES = 200
const OTHER = 'OTHER'

/** Counts errors by their codes, since the start of the process. */
export class ErrorCounts {
  readonly #counts = new Map<string, { count: number; lastAt: number }>()

  add(code: string, at: number = Date.now()): void {
    const isKnown = this.#counts.has(code) || this.#counts.size < MAX_CODES
    const key = isKnown ? code : OTHER
    const counted = this.#counts.get(key)
    if (counted === undefined) this.#counts.set(key, { count: 1, lastAt: at })
    else {
      counted.count++
      counted.lastAt = at
    }
  }

  /** The most frequent first. */
  list(): ErrorCount[] {
    return [...this.#counts]
      .map(([code, counted]) => ({ code, ...counted }))
      .toSorted((a, b) => b.count - a.count)
  }
}

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
