import { Type, type Static } from '@sinclair/typebox'
import { RunnableKindSchema } from './names.ts'
import { optionalId, WhenBusySchema } from './run-body.ts'
import { RunMetadataSchema, type RunMetadata } from './part.ts'

/** What happens to instants that were missed because the service was down. */
export const CatchUpSchema = Type.Union([Type.Literal('last'), Type.Literal('none')], {
  title: 'CatchUp',
  description:
    'After a time in which the service was down: `last` fires once for the latest missed instant, `none` waits for the next one. Default `last`'
})
export type CatchUp = Static<typeof CatchUpSchema>

// RFC 3339, which requires a zone: an instant is the same everywhere.
const INSTANT = String.raw`^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)$`

const CRON_FIELDS = {
  cron: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'A cron expression of five fields, or of six with seconds first; at most once a minute'
    })
  ),
  timeZone: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'The time zone of `cron`, as in the IANA database: `Europe/Berlin`. Default `UTC`'
    })
  ),
  at: Type.Optional(
    Type.String({ pattern: INSTANT, description: 'Instead of `cron`, one instant: RFC 3339, with a zone' })
  )
}
// Each run has two texts more.
const metadata = Type.Unsafe<RunMetadata>({
  ...RunMetadataSchema,
  title: 'ScheduleMetadata',
  maxProperties: 14,
  description:
    'The metadata of each run: at most 14 texts of your own, beside `scheduleId` and `scheduledAt`, which each run has'
})
const OTHER_FIELDS = {
  sessionId: optionalId('The conversation that all runs continue; default a new one for each run'),
  whenBusy: Type.Optional(WhenBusySchema),
  metadata: Type.Optional(metadata),
  catchUp: Type.Optional(CatchUpSchema),
  enabled: Type.Optional(Type.Boolean({ description: 'Whether it fires; default true' }))
}

/** What a new schedule is made of, besides its runnable. */
export const NewScheduleSchema = Type.Object(
  {
    ...CRON_FIELDS,
    input: Type.Unknown({
      description:
        'The input of each run: a message of texts and URLs, or JSON that fits the runnable’s input schema'
    }),
    ...OTHER_FIELDS
  },
  { title: 'NewSchedule', additionalProperties: false }
)

/** What can be changed in a schedule; `cron` replaces `at`, and the reverse. */
export const ScheduleChangeSchema = Type.Object(
  {
    ...CRON_FIELDS,
    input: Type.Optional(Type.Unknown({ description: 'The input of each run' })),
    ...OTHER_FIELDS
  },
  { title: 'ScheduleChange', additionalProperties: false }
)
export type ScheduleChange = Static<typeof ScheduleChangeSchema>

/** A new schedule: one of `cron` and `at` is required. */
export type NewSchedule = Static<typeof NewScheduleSchema>

const time = (description: string) => Type.String({ format: 'date-time', description })

/** A schedule as clients see it. Times are ISO 8601 in UTC. */
export const ScheduleSchema = Type.Object(
  {
    scheduleId: Type.String(),
    kind: RunnableKindSchema,
    name: Type.String(),
    cron: Type.Optional(Type.String()),
    timeZone: Type.Optional(Type.String({ description: 'With `cron`' })),
    at: Type.Optional(time('Instead of `cron`')),
    input: Type.Unknown(),
    sessionId: Type.Optional(Type.String()),
    whenBusy: Type.Optional(WhenBusySchema),
    metadata: Type.Optional(RunMetadataSchema),
    catchUp: CatchUpSchema,
    enabled: Type.Boolean(),
    createdAt: time('When it was created'),
    updatedAt: time('When its owner last changed it'),
    nextAt: Type.Optional(time('The next instant at which it fires; absent if there is none')),
    lastAt: Type.Optional(time('The latest instant for which it fired')),
    lastRunId: Type.Optional(Type.String({ description: 'The run of that instant' })),
    lastError: Type.Optional(
      Type.String({ description: 'The code of the error that kept it from firing the last time' })
    )
  },
  { title: 'Schedule' }
)
export type Schedule = Static<typeof ScheduleSchema>
