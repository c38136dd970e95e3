import type { Static } from '@sinclair/typebox'
import type { TaskPushConfig } from '../../model/push.ts'
import { defined } from '../fields.ts'
import type { PushConfigSchema } from './schemas.ts'

/** What is told of where pushes go, but for the task. */
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
