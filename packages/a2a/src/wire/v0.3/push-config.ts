import type { Static } from '@sinclair/typebox'
import type { TaskPushConfig } from '../../model/push.ts'
import { defined } from '../fields.ts'
import type { PushConfigSchema } from './schemas.ts'

/** Decodes a configuration; it does not name its task. */
export function decodePushConfig({ id, url, token, authentication }: Static<typeof PushConfigSchema>) {
  const auth = authentication && {
    schemes: authentication.schemes,
    ...defined({ credentials: authentication.credentials })
  }
  return { url, ...defined({ id, token, authentication: auth }) }
}

export function encodePushConfig({ taskId, ...pushNotificationConfig }: TaskPushConfig): object {
  return { taskId, pushNotificationConfig }
}
