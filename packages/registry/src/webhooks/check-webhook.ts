import { TypeCompiler } from '@sinclair/typebox/compiler'
import {
  findFaults,
  formatFaults,
  RUN_ERR_BAD_WEBHOOK,
  RUN_ERR_WEBHOOK_URL,
  WebhookChangeSchema,
  type Fault,
  type WebhookChange
} from '@svc/contract'
import {
  readTarget,
  requirePublicTarget,
  UnsafeTargetError,
  type TargetRules
} from '../outbound/safe-target.ts'

const fieldsCheck = TypeCompiler.Compile(WebhookChangeSchema)

/**
 * Checks what was given of a webhook, drops undefined fields, and looks the host up.
 * @throws RUN_ERR_BAD_WEBHOOK, RUN_ERR_WEBHOOK_URL
 */
export async function requireWebhook<T extends WebhookChange>(given: T, rules: TargetRules): Promise<T> {
  const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T
  if (!fieldsCheck.Check(fields)) throw badWebhook(findFaults(WebhookChangeSchema, fields))
  if (fields.url !== undefined) await requireTarget(fields.url, rules)
  return fields
}

/** The error of a webhook with these faults. */
export function badWebhook(errors: Fault[]): Error {
  return Object.assign(new RUN_ERR_BAD_WEBHOOK(formatFaults(errors)), { errors })
}

/** The host of a URL, with its port: at most some messages are sent to one at a time. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? ''
}

async function requireTarget(text: string, rules: TargetRules): Promise<void> {
  const url = readTarget(text)
  if (typeof url === 'string') throw new RUN_ERR_WEBHOOK_URL(url)
  try {
    await requirePublicTarget(url, rules)
  } catch (err) {
    const isUnsafe = err instanceof UnsafeTargetError
    throw new RUN_ERR_WEBHOOK_URL(isUnsafe ? err.message : 'Its host cannot be found')
  }
}
