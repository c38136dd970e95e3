import { Type, type Static } from '@sinclair/typebox'
import { MAX_NAME_LENGTH, NewScheduleSchema, RunnableKindSchema, ScheduleSchema } from '@svc/contract'
import { nextCursor, pageQuery } from './parameters.ts'

/** Selects one page of schedules. */
export const ScheduleQuerySchema = Type.Object(pageQuery, {
  title: 'ScheduleQuery',
  additionalProperties: false
})

/** The request that creates a schedule. */
export const ScheduleBodySchema = Type.Object(
  {
    kind: RunnableKindSchema,
    name: Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH, description: 'The registered name' }),
    ...NewScheduleSchema.properties
  },
  {
    title: 'ScheduleBody',
    additionalProperties: false,
    examples: [
      {
        kind: 'agent',
        name: 'support',
        cron: '0 9 * * 1-5',
        timeZone: 'Europe/Berlin',
        input: 'Good morning'
      }
    ]
  }
)

/** A schedule as an item of a list, or alone. */
export const ScheduleItemSchema = Type.Object(
  {
    ...ScheduleSchema.properties,
    owner: Type.Optional(Type.String({ description: 'Of the schedules of others, which administrators see' }))
  },
  { title: 'Schedule' }
)
export type ScheduleItem = Static<typeof ScheduleItemSchema>

/** One page of schedules, newest first. */
export const ScheduleListSchema = Type.Object(
  { schedules: Type.Array(ScheduleItemSchema), nextCursor },
  { title: 'ScheduleList' }
)
