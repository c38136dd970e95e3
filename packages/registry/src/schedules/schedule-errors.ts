import { createError } from '../contract/create-error.ts'

/** There is no such schedule, or it has another owner. */
export const RUN_ERR_SCHEDULE_NOT_FOUND = createError<[string]>(
  'RUN_ERR_SCHEDULE_NOT_FOUND',
  'No schedule "%s"',
  404
)
/** A field of a schedule is missing or invalid; `errors` lists the faults. */
export const RUN_ERR_BAD_SCHEDULE = createError<[string]>('RUN_ERR_BAD_SCHEDULE', '%s', 400)
/** The cron expression cannot be read. */
export const RUN_ERR_SCHEDULE_CRON = createError<[string]>(
  'RUN_ERR_SCHEDULE_CRON',
  'Not a cron expression: %s',
  400
)
/** The cron expression names no instant at all, such as February 30. */
export const RUN_ERR_SCHEDULE_NEVER = createError<[string]>(
  'RUN_ERR_SCHEDULE_NEVER',
  'The cron expression "%s" never fires',
  400
)
/** The cron expression fires more than once a minute. */
export const RUN_ERR_SCHEDULE_TOO_OFTEN = createError<[string]>(
  'RUN_ERR_SCHEDULE_TOO_OFTEN',
  'The cron expression "%s" fires more than once a minute: name one second, or leave the seconds out',
  400
)
/** No such time zone. */
export const RUN_ERR_SCHEDULE_TIME_ZONE = createError<[string]>(
  'RUN_ERR_SCHEDULE_TIME_ZONE',
  'Unknown time zone: "%s"; name one of the IANA database, such as Europe/Berlin',
  400
)
/** The instant is over. */
export const RUN_ERR_SCHEDULE_PAST = createError<[string]>(
  'RUN_ERR_SCHEDULE_PAST',
  'The instant %s is in the past',
  400
)
/** The input of a schedule has binary content, which is not kept. */
export const RUN_ERR_SCHEDULE_BINARY = createError(
  'RUN_ERR_SCHEDULE_BINARY',
  'The bytes of files are not kept with a schedule: give their URLs',
  400
)
/** The owner has reached the limit of schedules, or the store in memory is full. */
export const RUN_ERR_TOO_MANY_SCHEDULES = createError(
  'RUN_ERR_TOO_MANY_SCHEDULES',
  'There are too many schedules: remove some',
  429
)
/** The schedule was changed or fired again and again while it was to be changed. */
export const RUN_ERR_SCHEDULE_CHANGED = createError(
  'RUN_ERR_SCHEDULE_CHANGED',
  'The schedule is being changed by another request: repeat yours',
  409
)
/** The stores of the engine keep no schedules. */
export const RUN_ERR_SCHEDULES_NOT_KEPT = createError(
  'RUN_ERR_SCHEDULES_NOT_KEPT',
  'No schedules are kept here',
  404
)
/** The policy of the app no longer allows the owner of the schedule to run it. */
export const RUN_ERR_SCHEDULE_REFUSED = createError(
  'RUN_ERR_SCHEDULE_REFUSED',
  'The owner of the schedule may not run it',
  403
)
/** No process has the runnable of the schedule, or cannot resume it. */
export const RUN_ERR_SCHEDULE_NO_RUNNABLE = createError<[kind: string, name: string]>(
  'RUN_ERR_SCHEDULE_NO_RUNNABLE',
  'The %s "%s" of the schedule is not registered here',
  409
)
