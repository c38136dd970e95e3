import { Type, type Static } from '@sinclair/typebox'
import { DeliveryStateSchema, NewWebhookSchema, WebhookDeliverySchema, WebhookSchema } from '@svc/contract'
import { nextCursor, pageQuery } from './parameters.ts'

const owner = Type.Optional(
  Type.String({ description: 'Of the webhooks of others, which administrators see' })
)

/** Selects one page of webhooks. */
export const WebhookQuerySchema = Type.Object(pageQuery, {
  title: 'WebhookQuery',
  additionalProperties: false
})

/** The request that creates a webhook. */
export const WebhookBodySchema = Type.Object(NewWebhookSchema.properties, {
  title: 'WebhookBody',
  additionalProperties: false,
  examples: [{ url: 'https://example.com/hooks/agents', events: ['run.completed', 'run.failed'] }]
})

/** A webhook as an item of a list, or alone. */
export const WebhookItemSchema = Type.Object({ ...WebhookSchema.properties, owner }, { title: 'Webhook' })
export type WebhookItem = Static<typeof WebhookItemSchema>

/** A new webhook: its secrets are in no later answer. */
export const CreatedWebhookSchema = Type.Object(
  {
    ...WebhookItemSchema.properties,
    secrets: Type.Array(Type.String(), { description: 'What its messages are signed with' })
  },
  { title: 'CreatedWebhook' }
)

/** One page of webhooks, newest first. */
export const WebhookListSchema = Type.Object(
  { webhooks: Type.Array(WebhookItemSchema), nextCursor },
  { title: 'WebhookList' }
)

/** Selects one page of messages. */
export const DeliveryQuerySchema = Type.Object(
  { ...pageQuery, state: Type.Optional(DeliveryStateSchema) },
  { title: 'DeliveryQuery', additionalProperties: false }
)

/** A message that was not delivered. */
export const DeliveryItemSchema = Type.Object(
  { ...WebhookDeliverySchema.properties, owner },
  { title: 'WebhookDelivery' }
)
export type DeliveryItem = Static<typeof DeliveryItemSchema>

/** One page of messages, newest first. */
export const DeliveryListSchema = Type.Object(
  { deliveries: Type.Array(DeliveryItemSchema), nextCursor },
  { title: 'WebhookDeliveryList' }
)
