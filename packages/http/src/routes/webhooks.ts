import { isAdmin, reachesOwner, WebhookChangeSchema, type Principal } from '@svc/contract'
import { RUN_ERR_WEBHOOK_NOT_FOUND } from '@svc/contract/errors'
import { sendJson, type OwnedWebhook, jsonReply } from '@svc/surface'
import { formatRunCursor } from '@svc/contract/stores'
import { describeOperation, emptyReply, errorReplies } from '../openapi/describe-operation.ts'
import { collectPage, sendPage } from '../replies/collect-page.ts'
import { WebhookParamsSchema } from '../schemas/parameters.ts'
import {
  CreatedWebhookSchema,
  WebhookBodySchema,
  WebhookItemSchema,
  WebhookListSchema,
  WebhookQuerySchema,
  type WebhookItem
} from '../schemas/webhooks.ts'
import type { HttpScope, Surface } from '../surface.ts'

const config = { access: 'authenticated' } as const
const found = jsonReply('The webhook', WebhookItemSchema)
const list = {
  ...describeOperation(
    'list-webhooks',
    'Your own webhooks, newest first',
    'Administrators see those of all owners. Those of single runs are not listed.'
  ),
  querystring: WebhookQuerySchema,
  response: {
    200: jsonReply('One page of webhooks', WebhookListSchema),
    ...errorReplies(400, 404, 500, 503)
  }
}
const create = {
  ...describeOperation(
    'create-webhook',
    'Report your runs to a URL',
    'From now on, messages are signed and sent by the rules of Standard Webhooks when runs complete, fail, or wait for an input. Only this answer has the secrets.'
  ),
  body: WebhookBodySchema,
  response: {
    201: jsonReply('The new webhook', CreatedWebhookSchema, { location: 'The URL of the webhook' }),
    ...errorReplies(400, 404, 413, 415, 429, 500, 503)
  }
}
const get = {
  ...describeOperation('get-webhook', 'One webhook'),
  params: WebhookParamsSchema,
  response: { 200: found, ...errorReplies(400, 404, 414, 500, 503) }
}
const change = {
  ...describeOperation(
    'change-webhook',
    'Change a webhook, or rotate its secrets',
    'What is left out stays as it is. Messages are signed with each of `secrets`, so that receivers can turn from the old one to the new one.'
  ),
  params: WebhookParamsSchema,
  body: WebhookChangeSchema,
  response: { 200: found, ...errorReplies(400, 404, 413, 414, 415, 429, 500, 503) }
}
const remove = {
  ...describeOperation('remove-webhook', 'Remove a webhook, with the messages that were not delivered'),
  params: WebhookParamsSchema,
  response: { 204: emptyReply('Removed'), ...errorReplies(400, 404, 414, 500, 503) }
}

/** `/webhooks`: create, list, read, change and remove your own. */
export function webhooksRoutes(scope: HttpScope, surface: Surface): void {
  const { runs, exposed, replies } = surface
  const { webhooks } = runs

  scope.get('/webhooks', { schema: list, config }, async ({ principal, query }, reply) => {
    const owner = isAdmin(principal.scopes) ? {} : { owner: principal.sub }
    const page = await collectPage<OwnedWebhook>(
      {
        async read(limit, cursor) {
          const registries = exposed.registries()
          const more = { ...owner, registries, limit, ...(cursor !== undefined && { cursor }) }
          const { webhooks: items, nextCursor } = await webhooks.list(more)
          return { items, nextCursor }
        },
        encode: (each) => JSON.stringify(toItem(each, principal)),
        cursorOf: ({ createdAt, webhookId }) =>
          formatRunCursor({ at: Date.parse(createdAt), runId: webhookId })
      },
      query
    )
    return sendPage(reply, 'webhooks', page)
  })

  scope.post('/webhooks', { schema: create, config }, async ({ body, principal }, reply) => {
    const { secrets, ...webhook } = await webhooks.create(body, {
      principal,
      registries: exposed.registries()
    })
    reply.code(201).header('location', `${surface.baseOf(reply.request)}/webhooks/${webhook.webhookId}`)
    return sendJson(replies, reply, { ...toItem(webhook, principal), secrets })
  })

  scope.get('/webhooks/:webhookId', { schema: get, config }, async ({ params, principal }, reply) =>
    sendJson(replies, reply, toItem(await requireWebhook(params.webhookId, principal), principal))
  )

  scope.patch(
    '/webhooks/:webhookId',
    { schema: change, config },
    async ({ params, body, principal }, reply) => {
      const { webhookId } = await requireWebhook(params.webhookId, principal)
      return sendJson(replies, reply, toItem(await webhooks.update(webhookId, body), principal))
    }
  )

  scope.delete('/webhooks/:webhookId', { schema: remove, config }, async ({ params, principal }, reply) => {
    const { webhookId } = await requireWebhook(params.webhookId, principal)
    if (!(await webhooks.remove(webhookId))) throw new RUN_ERR_WEBHOOK_NOT_FOUND(webhookId)
    return reply.code(204).send()
  })

  // Another owner's webhook, or another service's, counts as missing, and so does one of a single run.
  async function requireWebhook(webhookId: string, principal: Principal): Promise<OwnedWebhook> {
    const webhook = await webhooks.get(webhookId)
    const registries = exposed.registries().toSorted().join(' ')
    const isOwn = webhook?.registries.join(' ') === registries && reachesOwner(principal, webhook.owner)
    if (webhook === undefined || !isOwn || webhook.runId !== undefined)
      throw new RUN_ERR_WEBHOOK_NOT_FOUND(webhookId)
    return webhook
  }
}

function toItem(
  { owner, registries: _, runId: __, ...webhook }: OwnedWebhook,
  { sub }: Principal
): WebhookItem {
  return owner === sub ? webhook : { ...webhook, url: withoutQuery(webhook.url), owner }
}

// The query of a receiver's URL is often its only secret. Owners see it, administrators do not.
function withoutQuery(url: string): string {
  const [path = '', query] = url.split('?', 2)
  return query === undefined ? url : `${path}?…`
}
