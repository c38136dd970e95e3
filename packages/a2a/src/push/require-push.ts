import { A2A_ERR_NO_PUSH } from '../errors.ts'
import type { Surface } from '../surface.ts'
import type { PushService } from './push-service.ts'

/** @throws A2A_ERR_NO_PUSH where push notifications are off */
export function requirePush({ push }: Pick<Surface, 'push'>): PushService {
  if (push === undefined) throw new A2A_ERR_NO_PUSH()
  return push
}
