import { Type, type Static } from '@sinclair/typebox'

const bytes = (description: string) => Type.Integer({ minimum: 0, description: `Bytes: ${description}` })
const milliseconds = Type.Integer({ minimum: 0, description: 'Milliseconds' })

/** What an administrator sees of one process. */
export const HealthReportSchema = Type.Object(
  {
    status: Type.Union(
      [Type.Literal('ok'), Type.Literal('recovering'), Type.Literal('no-lease'), Type.Literal('draining')],
      {
        description:
          '`recovering`: not all runs that a crash left were looked at; `no-lease`: without contact to the stores; `draining`: shutting down'
      }
    ),
    uptime: Type.Number({ minimum: 0, description: 'Seconds since the process started' }),
    eventLoop: Type.Object({
      utilization: Type.Number({ minimum: 0, maximum: 1, description: 'The share of the time at work' }),
      delayMs: Type.Object(
        { p50: milliseconds, p99: milliseconds, max: milliseconds },
        { description: 'By how much timers are late' }
      )
    }),
    memory: Type.Object({
      rss: bytes('the process'),
      heapUsed: bytes('objects in use'),
      heapTotal: bytes('the heap'),
      external: bytes('outside of the heap, buffers included')
    }),
    runs: Type.Object({
      active: Type.Integer({ minimum: 0, description: 'In progress in this process' }),
      waiting: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 100,
          description:
            'That wait for their turn or in the queue, on all processes; 100 stands for more, too. Absent while the store is away'
        })
      )
    }),
    errors: Type.Array(
      Type.Object({
        code: Type.String(),
        count: Type.Integer({ minimum: 1 }),
        lastAt: Type.String({ format: 'date-time' })
      }),
      {
        description:
          'Refused requests and failed runs of this process since it started, by their codes, the most frequent first; at most 200 codes, then `OTHER`'
      }
    )
  },
  { title: 'HealthReport' }
)
export type HealthReport = Static<typeof HealthReportSchema>
