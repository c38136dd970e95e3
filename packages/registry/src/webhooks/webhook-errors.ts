import { createError } from '../contract/create-error.ts'

/** There is no such webhook, or it has another owner. */
export const RUN_ERR_WEBHOOK_NOT_FOUND = createError<[string]>(
  'RUN_ERR_WEBHOOK_NOT_FOUND',
  'No webhook "%s"',
  404
)
/** A field of a webhook is missing or invalid; `errors` lists the faults. */
export const RUN_ERR_BAD_WEBHOOK = createError<[string]>('RUN_ERR_BAD_WEBHOOK', '%s', 400)
/** The URL is none, or not one on the public internet. */
export const RUN_ERR_WEBHOOK_URL = createError<[string]>(
  'RUN_ERR_WEBHOOK_URL',
  'The URL of the webhook cannot be used: %s',
  400
)
/** Neither the webhook of a run nor the service has a secret to sign messages with. */
export const RUN_ERR_WEBHOOK_NO_SECRET = createError(
  'RUN_ERR_WEBHOOK_NO_SECRET',
  'The service has no secret of its own: give `secrets`',
  400
)
/** An owner has as many webhooks as it may have, or the store is full. */
export const RUN_ERR_TOO_MANY_WEBHOOKS = createError(
  'RUN_ERR_TOO_MANY_WEBHOOKS',
  'Too many webhooks: remove one, or wait until runs with one have ended',
  429
)
/** The stores of the engine have no webhooks. */
export const RUN_ERR_WEBHOOKS_NOT_KEPT = createError(
  'RUN_ERR_WEBHOOKS_NOT_KEPT',
  'The stores keep no webhooks',
  404
)
/** There is no such message, it has another owner, or it was delivered. */
export const RUN_ERR_DELIVERY_NOT_FOUND = createError<[string]>(
  'RUN_ERR_DELIVERY_NOT_FOUND',
  'No message "%s" that was not delivered',
  404
)
/** Only a dead message can be sent again by hand. */
export const RUN_ERR_DELIVERY_NOT_DEAD = createError<[string]>(
  'RUN_ERR_DELIVERY_NOT_DEAD',
  'The message "%s" is still being sent',
  409
)
