import type { RunEngine } from '@svc/surface'
import { toFault } from '../errors/to-error-body.ts'
import { ErrorCounts } from '../health/error-counts.ts'
import { EventLoopWatch } from '../health/event-loop-watch.ts'
import { describeOperation } from '../openapi/describe-operation.ts'
import { errorReplies, jsonReply } from '../openapi/describe-replies.ts'
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
