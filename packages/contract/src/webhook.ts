import { Type, type Static } from '@sinclair/typebox'
import { RunnableKindSchema } from './names.ts'

/** What a webhook can report, by the words of its messages. */
export const WEBHOOK_EVENTS = ['run.completed', 'run.failed', 'run.input-required'] as const

/** What a webhook can report of sessions instead, by the words of the API of a vendor, in whose shape its messages are. */
export const SESSION_EVENTS = {
  openai: ['agent.session.idle', 'agent.session.failed', 'agent.session.action_required'],
  anthropic: ['session.status_idled', 'session.requires_action']
} as const

/** What a webhook can ask for. */
export type ReportedEvent = WebhookEvent | (typeof SESSION_EVENTS)[keyof typeof SESSION_EVENTS][number]

/** What happened to a run. */
const WebhookEventSchema = Type.Union(
  WEBHOOK_EVENTS.map((event) => Type.Literal(event)),
  { title: 'WebhookEvent' }
)
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

/** Standard Webhooks: base64 of 24 to 64 bytes after a prefix. */
export const WebhookSecretSchema = Type.String({
  pattern: '^whsec_[A-Za-z0-9+/]{32,86}={0,2}$',
  description: '`whsec_` and the base64 of 24–64 random bytes'
})

const ReportedEventSchema = Type.Union(
  [...WEBHOOK_EVENTS, ...SESSION_EVENTS.openai, ...SESSION_EVENTS.anthropic].map((event) =>
    Type.Literal(event)
  ),
  { title: 'ReportedEvent' }
)
const events = Type.Unsafe<ReportedEvent[]>(
  Type.Array(ReportedEventSchema, {
    minItems: 1,
    maxItems: 8,
    uniqueItems: true,
    description:
      'What is reported, of one shape: of runs, or of the sessions of the Agents API or of Managed Agents; default everything of runs'
  })
)
const url = Type.String({
  minLength: 1,
  maxLength: 2_048,
  description: 'Where messages are posted: http or https, on the public internet, without credentials'
})
const secrets = Type.Array(WebhookSecretSchema, {
  minItems: 1,
  maxItems: 5,
  description: 'What messages are signed with, once with each: for rotation, the new one and the old one'
})

/** A webhook of one run, or for all runs of an owner. */
export const NewWebhookSchema = Type.Object(
  { url, events: Type.Optional(events), secrets: Type.Optional(secrets) },
  {
    title: 'NewWebhook',
    additionalProperties: false,
    description:
      'Where runs are reported. Without `secrets`, one for all runs gets a new secret, and messages about a single run are signed with the secrets of the service'
  }
)
export type NewWebhook = Static<typeof NewWebhookSchema>

/** What can be changed in a webhook. */
export const WebhookChangeSchema = Type.Object(
  { url: Type.Optional(url), events: Type.Optional(events), secrets: Type.Optional(secrets) },
  { title: 'WebhookChange', additionalProperties: false }
)
export type WebhookChange = Static<typeof WebhookChangeSchema>

const time = (description: string) => Type.String({ format: 'date-time', description })

/** A webhook as clients see it, without its secrets. Times are ISO 8601 in UTC. */
export const WebhookSchema = Type.Object(
  {
    webhookId: Type.String(),
    url: Type.String(),
    events,
    createdAt: time('When it was created'),
    updatedAt: time('When its owner last changed it')
  },
  { title: 'Webhook' }
)
export type Webhook = Static<typeof WebhookSchema>

/** Whether a message is still sent again, or was given up. */
export const DeliveryStateSchema = Type.Union([Type.Literal('pending'), Type.Literal('dead')], {
  title: 'DeliveryState'
})
export type DeliveryState = Static<typeof DeliveryStateSchema>

/** A message that its receiver has not taken yet. Times are ISO 8601 in UTC. */
export const WebhookDeliverySchema = Type.Object(
  {
    deliveryId: Type.String({ description: 'The `webhook-id` of each attempt' }),
    webhookId: Type.String(),
    runId: Type.String(),
    kind: RunnableKindSchema,
    name: Type.String(),
    event: Type.Unsafe<WebhookEvent>(WebhookEventSchema),
    at: time('When it happened'),
    state: DeliveryStateSchema,
    attempts: Type.Integer({ description: 'How often it was sent' }),
    nextAt: Type.Optional(time('When it is sent again; absent if it was given up')),
    lastStatus: Type.Optional(Type.Integer({ description: 'The HTTP status of the last answer' })),
    lastError: Type.Optional(
      Type.String({
        description: 'Why there was no answer: `TIMEOUT`, `UNSAFE_ADDRESS`, or a code of Node.js'
      })
    )
  },
  { title: 'WebhookDelivery' }
)
export type WebhookDelivery = Static<typeof WebhookDeliverySchema>
