import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Webhook, WebhookDelivery } from '@svc/registry'
import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'
import { buildSecuredApp } from '../helpers/secured-app.ts'

const keepAlive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(keepAlive))

const engine = { webhooks: { allowPrivate: true, backoff: 1, attempts: 1 } }
const setup = { runnables: [echo], engine }
const hook = { url: 'http://127.0.0.1:9/hook', events: ['run.completed'] }
const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const read = async (response: Response) =>
  (await response.json()) as Webhook & { owner?: string; secrets?: string[] }
const idsOf = async (response: Response) =>
  ((await response.json()) as { webhooks: Webhook[] }).webhooks.map(({ webhookId }) => webhookId)
const deliveriesOf = async (response: Response) =>
  ((await response.json()) as { deliveries: (WebhookDelivery & { owner?: string })[] }).deliveries

t.test('a webhook is created, read, changed and removed; its secrets are shown once', async (t) => {
  const { ask, as } = await buildSecuredApp(t, setup)
  const ada = as('ada', 'webhooks:*')
  const response = await ask('POST', '/webhooks', ada, hook)
  t.equal(response.status, 201)
  const { secrets, ...created } = await read(response)
  t.match(secrets, [/^whsec_/])
  t.match(created, { ...hook, createdAt: /Z$/ })
  const path = `/webhooks/${created.webhookId}`
  t.ok(response.headers.get('location')?.endsWith(path))
  t.same(await read(await ask('GET', path, ada)), created)
  t.same(await idsOf(await ask('GET', '/webhooks', ada)), [created.webhookId])
  const changed = await read(await ask('PATCH', path, ada, { events: ['run.failed'], secrets: [secret] }))
  t.same({ ...changed, updatedAt: created.updatedAt }, { ...created, events: ['run.failed'] })
  t.equal((await ask('DELETE', path, ada)).status, 204)
  await requireError(t, await ask('GET', path, ada), 404, 'RUN_ERR_WEBHOOK_NOT_FOUND')
  await requireError(t, await ask('DELETE', path, ada), 404, 'RUN_ERR_WEBHOOK_NOT_FOUND')
})

t.test('owners see their own; administrators all', async (t) => {
  const { ask, as } = await buildSecuredApp(t, setup)
  const [ada, grace, admin] = [as('ada', 'webhooks:*'), as('grace', 'webhooks:*'), as('root', 'admin:*')]
  for (let n = 0; n < 3; n++) await ask('POST', '/webhooks', ada, hook)
  const { webhookId } = await read(await ask('POST', '/webhooks', grace, hook))
  t.equal((await idsOf(await ask('GET', '/webhooks', ada))).length, 3)
  const page = (await (await ask('GET', '/webhooks?limit=2', ada)).json()) as { nextCursor: string }
  t.equal((await idsOf(await ask('GET', `/webhooks?limit=2&cursor=${page.nextCursor}`, ada))).length, 1)
  await requireError(t, await ask('GET', '/webhooks?cursor=x', ada), 400, 'REG_ERR_BAD_CURSOR')
  const path = `/webhooks/${webhookId}`
  for (const [method, body] of [['GET'], ['PATCH', { events: ['run.failed'] }], ['DELETE']] as const)
    await requireError(t, await ask(method, path, ada, body), 404, 'RUN_ERR_WEBHOOK_NOT_FOUND')
  t.equal((await idsOf(await ask('GET', '/webhooks', admin))).length, 4)
  t.match(await read(await ask('GET', path, admin)), { owner: 'grace' })
  const secret = { url: `${hook.url}?token=t0p-secret` }
  await ask('PATCH', path, grace, secret)
  t.match(await read(await ask('GET', path, grace)), secret)
  for (const seen of [path, '/webhooks'])
    t.notMatch(await (await ask('GET', seen, admin)).text(), /t0p-secret/)
  t.match(await read(await ask('GET', path, admin)), { url: `${hook.url}?…` })
  t.notMatch(await (await ask('PATCH', path, admin, { events: ['run.failed'] })).text(), /t0p-secret/)
  t.notOk('owner' in (await read(await ask('GET', path, grace))))
})

t.test('scopes are required', async (t) => {
  const { ask, as } = await buildSecuredApp(t, setup)
  const missing = 'HTTP_ERR_MISSING_SCOPE'
  await requireError(t, await ask('POST', '/webhooks', as('a', 'webhooks:read'), hook), 403, missing)
  await requireError(t, await ask('GET', '/webhooks', as('a', 'webhooks:write')), 403, missing)
  await requireError(t, await ask('GET', '/webhooks/deliveries', as('a', 'agents:run')), 403, missing)
  const retry = '/webhooks/deliveries/x/retry'
  await requireError(t, await ask('POST', retry, as('a', 'webhooks:read')), 403, missing)
  await requireError(t, await ask('GET', '/webhooks'), 401, 'HTTP_ERR_NO_TOKEN')
})

t.test('bad webhooks are refused by what is wrong with them', async (t) => {
  const { post } = await buildApp(t, { runnables: [echo] })
  const refuse = async (webhook: object, code: string) => {
    await requireError(t, await post('/webhooks', webhook), 400, code)
    await requireError(t, await post('/agents/echo/run', { input: 'hi', webhook }), 400, code)
  }
  await refuse({ url: 'http://127.0.0.1/', secrets: [secret] }, 'RUN_ERR_WEBHOOK_URL')
  await refuse({ url: 'http://localhost:3000/', secrets: [secret] }, 'RUN_ERR_WEBHOOK_URL')
  await refuse({ url: 'mailto:ada@example.com', secrets: [secret] }, 'RUN_ERR_WEBHOOK_URL')
  await refuse({ events: ['run.failed'] }, 'HTTP_ERR_VALIDATION')
  await refuse({ ...hook, events: ['run.started'] }, 'HTTP_ERR_VALIDATION')
  await refuse({ ...hook, secrets: ['short'] }, 'HTTP_ERR_VALIDATION')
  await refuse({ ...hook, headers: {} }, 'HTTP_ERR_VALIDATION')
})

t.test('dead messages are listed, and sent again', async (t) => {
  let status = 500
  const arrived: string[] = []
  const server = createServer((request, reply) => {
    arrived.push(String(request.headers['webhook-id']))
    reply.writeHead(status).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { ask, as } = await buildSecuredApp(t, setup)
  const [ada, grace] = [as('ada', 'webhooks:*', 'agents:run'), as('grace', 'webhooks:*')]
  const webhook = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, secrets: [secret] }
  const run = await ask('POST', '/agents/echo/run', ada, { input: 'hi', webhook })
  const dead = async () => deliveriesOf(await ask('GET', '/webhooks/deliveries?state=dead', ada))
  let [message] = await dead()
  while (message === undefined) [message] = await dead()
  t.match(message, { runId: run.headers.get('x-run-id'), kind: 'agent', name: 'echo', lastStatus: 500 })
  t.same(await idsOf(await ask('GET', '/webhooks', ada)), [], 'that of a run is not listed')
  const ofRun = await ask('GET', `/webhooks/${message.webhookId}`, ada)
  await requireError(t, ofRun, 404, 'RUN_ERR_WEBHOOK_NOT_FOUND')
  t.same(await deliveriesOf(await ask('GET', '/webhooks/deliveries', grace)), [])
  const retry = `/webhooks/deliveries/${message.deliveryId}/retry`
  await requireError(t, await ask('POST', retry, grace), 404, 'RUN_ERR_DELIVERY_NOT_FOUND')
  t.match(await deliveriesOf(await ask('GET', '/webhooks/deliveries', as('root', 'admin:*'))), [
    { deliveryId: message.deliveryId, owner: 'ada' }
  ])
  status = 204
  t.equal((await ask('POST', retry, ada)).status, 204)
  while ((await deliveriesOf(await ask('GET', '/webhooks/deliveries', ada))).length > 0);
  t.same(arrived, [message.deliveryId, message.deliveryId])
  await requireError(t, await ask('POST', retry, ada), 404, 'RUN_ERR_DELIVERY_NOT_FOUND')
})
