import { isAdmin, reachesOwner, type Principal } from '@svc/contract'
import { RUN_ERR_DELIVERY_NOT_FOUND } from '@svc/contract/errors'
import { type OwnedDelivery, jsonReply } from '@svc/surface'
import { formatSeqCursor } from '@svc/contract/stores'
import { describeOperation, emptyReply, errorReplies } from '../openapi/describe-operation.ts'
import { collectPage, sendPage } from '../replies/collect-page.ts'
import { DeliveryParamsSchema } from '../schemas/parameters.ts'
import { DeliveryListSchema, DeliveryQuerySchema, type DeliveryItem } from '../schemas/webhooks.ts'
import type { HttpScope, Surface } from '../surface.ts'

const config = { access: 'authenticated' } as const
const list = {
  ...describeOperation(
    'list-webhook-deliveries',
    'Messages of your webhooks that were not delivered, newest first',
    'Those of single runs too. `state=dead` selects those that were given up. Administrators see those of all owners.'
  ),
  querystring: DeliveryQuerySchema,
  response: {
    200: jsonReply('One page of messages', DeliveryListSchema),
    ...errorReplies(400, 404, 500, 503)
  }
}
const retry = {
  ...describeOperation('retry-webhook-delivery', 'Send a message again that was given up'),
  params: DeliveryParamsSchema,
  response: { 204: emptyReply('It is sent again'), ...errorReplies(400, 404, 409, 414, 500, 503) }
}

/** `/webhooks/deliveries`: list what was not delivered, and send it again. */
export function deliveriesRoutes(scope: HttpScope, { runs: { webhooks }, exposed }: Surface): void {
  scope.get('/webhooks/deliveries', { schema: list, config }, async ({ principal, query }, reply) => {
    const { state, ...paging } = query
    const own = isAdmin(principal.scopes) ? {} : { owner: principal.sub }
    const page = await collectPage<OwnedDelivery>(
      {
        async read(limit, cursor) {
          const filter = { ...own, ...(state && { state }), registries: exposed.registries() }
          const more = { ...filter, limit, ...(cursor !== undefined && { cursor }) }
          const { deliveries: items, nextCursor } = await webhooks.listDeliveries(more)
          return { items, nextCursor }
        },
        encode: (each) => (exposed.shows(each) ? JSON.stringify(toItem(each, principal)) : undefined),
        cursorOf: ({ seq }) => formatSeqCursor(seq)
      },
      paging
    )
    return sendPage(reply, 'deliveries', page)
  })

  scope.post(
    '/webhooks/deliveries/:deliveryId/retry',
    { schema: retry, config },
    async ({ params: { deliveryId }, principal }, reply) => {
      const delivery = await webhooks.findDelivery(deliveryId)
      if (delivery === undefined || !reachesOwner(principal, delivery.owner) || !exposed.shows(delivery))
        throw new RUN_ERR_DELIVERY_NOT_FOUND(deliveryId)
      await webhooks.retry(deliveryId)
      return reply.code(204).send()
    }
  )
}

function toItem(delivery: OwnedDelivery, { sub }: Principal): DeliveryItem {
  const { owner, registry: _, seq: __, ...item } = delivery
  return owner === sub ? item : { ...item, owner }
}
