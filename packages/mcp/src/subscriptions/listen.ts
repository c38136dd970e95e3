import type { Static } from '@sinclair/typebox'
import { META_KEYS } from '../protocol/revisions.ts'
import { type Call, requireTasks } from '../server/call.ts'
import type { Surface } from '../surface.ts'
import { notificationsOf, toHonored, type FilterSchema } from './filter.ts'

/**
 * Notifies a client of changes until it leaves or the app closes. Tasks are not reported, but clients that do not know them must learn that
 * they cannot ask for it.
 * @throws RpcError, RUN_ERR_DRAINING
 */
export async function listen(
  { subscriptions }: Pick<Surface, 'subscriptions'>,
  { id, client, exchange }: Call,
  { notifications: filter }: { notifications: Static<typeof FilterSchema> }
): Promise<object> {
  if (filter.taskIds !== undefined) requireTasks(client)
  const honored = toHonored(filter)
  const meta = { [META_KEYS.subscription]: id }
  const send = (method: string, params?: object) =>
    exchange.send({ jsonrpc: '2.0', method, params: { ...params, _meta: meta } })
  const notify = () => notificationsOf(honored).forEach((method) => send(method))
  const acknowledge = () => send('notifications/subscriptions/acknowledged', { notifications: honored })

  if (Object.keys(honored).length === 0) acknowledge()
  else await subscriptions.last(exchange, { begin: acknowledge, notify })
  return { _meta: meta }
}
