import { Type } from '@sinclair/typebox'
import { partialQuery } from '@svc/surface'

/** Headers of requests that start a run. */
export const RunHeadersSchema = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[!-~]+$',
      description: 'Same key and body: the same run; same key with another body: 422'
    })
  ),
  Prefer: Type.Optional(
    Type.String({
      description:
        '`respond-async` on a run: 202 with the run record at once; `wait=N`: after N seconds, unless the run ends before'
    })
  )
})

/** Headers of requests that may be answered before their run ends. */
export const PreferHeadersSchema = Type.Pick(RunHeadersSchema, ['Prefer'])

/** Headers of requests for an event stream. */
export const StreamHeadersSchema = Type.Object({
  'Last-Event-ID': Type.Optional(
    Type.String({
      description: 'The `id` of the last received message; the stream continues after it'
    })
  )
})

/** Query parameters of the event stream of a new run. */
export const PartialQuerySchema = Type.Object(partialQuery)

/** Path parameters of a runnable. */
export const NameParamsSchema = Type.Object({ name: Type.String({ description: 'The registered name' }) })

/** Path parameters of a run. */
export const RunParamsSchema = Type.Object({
  runId: Type.String({ description: 'From `x-run-id`, a `start` part or a result' })
})

/** Path parameters of a file of a run. */
export const FileParamsSchema = Type.Object({
  ...RunParamsSchema.properties,
  fileId: Type.String({ description: 'From a `file` part, or the `files` of a result' })
})

/** Headers of requests for a file. */
export const FileHeadersSchema = Type.Object({
  Range: Type.Optional(
    Type.String({
      description:
        'One range of bytes, such as `bytes=0-1023`; for several ranges the answer is the whole file'
    })
  ),
  'If-Range': Type.Optional(Type.String({ description: 'The `etag` of the file that the range continues' })),
  'If-None-Match': Type.Optional(Type.String({ description: 'The `etag` of a copy: 304 if it is the file' }))
})

/** Path parameters of a schedule. */
export const ScheduleParamsSchema = Type.Object({
  scheduleId: Type.String({ description: 'From `POST /schedules` or `GET /schedules`' })
})

/** Path parameters of a webhook. */
export const WebhookParamsSchema = Type.Object({
  webhookId: Type.String({ description: 'From `POST /webhooks` or `GET /webhooks`' })
})

/** Path parameters of a message of a webhook. */
export const DeliveryParamsSchema = Type.Object({
  deliveryId: Type.String({ description: 'From `GET /webhooks/deliveries`' })
})

/** Query parameters of paginated lists. */
export const pageQuery = {
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 256, description: '`nextCursor` of the previous page' })
  )
}

/** The cursor of the next page. */
export const nextCursor = Type.Unsafe<string | null>({
  type: 'string',
  nullable: true,
  description: 'null on the last page'
})
