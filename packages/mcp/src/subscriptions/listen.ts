import { ANONYMOUS, type Principal } from '@svc/contract'
import type { Static } from '@sinclair/typebox'
import { META_KEYS } from '../protocol/message.ts'
import { requireTasks, type Call, type Exchange } from '../server/call.ts'
import type { Surface } from '../surface.ts'
import { notificationsOf, toHonored, type FilterSchema } from './subscriptions.ts'

/**
 * Notifies a client of changes until it leaves or the app closes. Tasks are not reported, but clients that do not know them must learn that
 * they cannot ask for it.
 * @throws RpcError, MCP_ERR_TOO_MANY_SUBSCRIPTIONS, RUN_ERR_DRAINING
 */
export async function listen(
  { subscriptions }: Pick<Surface, 'subscriptions'>,
  { id, principal, client, exchange }: Call,
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
  else await subscriptions.last(exchange, callerOf(principal, exchange), { begin: acknowledge, notify })
  return { _meta: meta }
}

// Callers without credentials differ by their address only.
function callerOf({ sub }: Principal, { address }: Exchange): string {
  return sub === ANONYMOUS.sub ? `address ${address}` : `sub ${sub}`
}
