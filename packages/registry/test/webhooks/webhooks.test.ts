import {
  errors,
  createInProcessStores,
  createRunEngine,
  defineRunnable,
  type NewWebhook,
  type RunEngineOptions,
  type Stores
} from '@svc/registry'
import { codeOf } from '@svc/testing'
import t from 'tap'
import { buildEngine } from '../helpers/collect.ts'
import { createWebhookReceiver } from '../helpers/webhook-receiver.ts'

const keepAlive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(keepAlive))

const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
const echo = defineRunnable({ kind: 'agent', name: 'echo', resumable: true, run: (input) => String(input) })
const ada = { sub: 'ada', scopes: ['*'] }

function build(t: Parameters<typeof buildEngine>[0], options: RunEngineOptions = {}) {
  return buildEngine(t, { webhooks: { allowPrivate: true, backoff: 1 }, ...options })
}

/** Stores that refuse new runs, as those of several processes do, and the webhooks that they have. */
function failingCreation(stores: Stores) {
  const createRun: { fault: Error | undefined } = { fault: undefined }
  const added = new Set<string>()
  const failing = <A extends unknown[], R>(act: (...args: A) => R | Promise<R>) => {
    return async (...args: A): Promise<R> => {
      if (createRun.fault !== undefined) throw createRun.fault
      return act(...args)
    }
  }
  const { runs, queue, webhooks } = stores
  const open: Stores = {
    ...stores,
    runs: { ...runs, create: failing(runs.create) },
    queue: { ...queue!, add: failing(queue!.add) },
    webhooks: {
      ...webhooks!,
      create(webhook, most) {
        added.add(webhook.webhookId)
        return webhooks!.create(webhook, most)
      },
      remove(webhookId) {
        added.delete(webhookId)
        return webhooks!.remove(webhookId)
      }
    }
  }
  return { createRun, added, open }
}

t.test('private, odd and unknown addresses are refused', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const hosts = ['127.0.0.1', 'localhost', '10.1.2.3', '169.254.169.254', '[::1]', '2130706433', '0x7f.1']
  for (const host of hosts) {
    const url = `http://${host}/hook`
    t.equal(await codeOf(() => engine.webhooks.create({ url })), 'RUN_ERR_WEBHOOK_URL', host)
    const started = () => engine.start(echo, 'hi', { webhook: { url, secrets: [secret] } })
    t.equal(await codeOf(started), 'RUN_ERR_WEBHOOK_URL', host)
  }
  for (const url of ['hook', 'ftp://example.com/', 'https://a:b@example.com/', 'http://no.such.invalid/'])
    t.equal(await codeOf(() => engine.webhooks.create({ url })), 'RUN_ERR_WEBHOOK_URL', url)
  t.same((await engine.list({ limit: 9 })).runs, [], 'no run has begun')
})

t.test('a host that becomes private is refused when a message is sent', async (t) => {
  const stores = createInProcessStores()
  const engine = buildEngine(t, { stores })
  const { url, secret, all } = await createWebhookReceiver(t)
  const times = { createdAt: 1, updatedAt: 1 }
  const about = { webhookId: 'w', owner: 'anonymous', runId: null, registries: [], ...times }
  await stores.webhooks!.create({ ...about, url, events: ['run.completed'], secrets: [secret] }, 9)
  await engine.recover()
  await (await engine.start(echo, 'hi')).result()
  let dead
  do [dead] = (await engine.webhooks.listDeliveries({ state: 'dead', limit: 9 })).deliveries
  while (dead === undefined && (await new Promise((resolve) => setImmediate(resolve, true))))
  t.match(dead, { lastError: 'UNSAFE_ADDRESS', attempts: 1 })
  t.same(all, [])
})

t.test('bad fields are named', async (t) => {
  const engine = build(t)
  const url = 'http://127.0.0.1/'
  const bad: unknown[] = [
    {},
    { url: 7 },
    { url, events: [] },
    { url, events: ['run.started'] },
    { url, events: ['run.failed', 'run.failed'] },
    { url, secrets: [] },
    { url, secrets: ['abc'] },
    { url, secrets: Array.from({ length: 6 }, () => secret) },
    { url, enabled: true }
  ]
  for (const each of bad)
    t.equal(
      await codeOf(() => engine.webhooks.create(each as NewWebhook)),
      'RUN_ERR_BAD_WEBHOOK',
      JSON.stringify(each)
    )
  t.equal(
    await codeOf(() => engine.webhooks.update('missing', { events: ['run.failed'] })),
    'RUN_ERR_WEBHOOK_NOT_FOUND'
  )
})

t.test('only the answer to the creation has the secrets', async (t) => {
  const engine = build(t)
  const { secrets, ...created } = await engine.webhooks.create({ url: 'http://127.0.0.1/' })
  t.match(secrets, [/^whsec_[A-Za-z0-9+/]{43}=$/])
  t.same(await engine.webhooks.get(created.webhookId), created)
  t.same((await engine.webhooks.list({ limit: 9 })).webhooks, [created])
  const changed = await engine.webhooks.update(created.webhookId, { secrets: [secret] })
  t.same({ ...changed, updatedAt: created.updatedAt }, created)
  t.equal(await engine.webhooks.remove(created.webhookId), true)
  t.equal(await engine.webhooks.remove(created.webhookId), false)
})

t.test('webhooks per owner are limited, those of runs do not count', async (t) => {
  const engine = build(t, { limits: { maxWebhooksPerOwner: 1 } })
  const webhook = { url: 'http://127.0.0.1:9/', secrets: [secret] }
  await engine.webhooks.create(webhook, { principal: ada })
  t.equal(
    await codeOf(() => engine.webhooks.create(webhook, { principal: ada })),
    'RUN_ERR_TOO_MANY_WEBHOOKS'
  )
  await engine.start(echo, 'hi', { webhook, principal: ada })
})

t.test('webhooks of single runs are limited per owner, while their messages are to come', async (t) => {
  const { url, secret } = await createWebhookReceiver(t, () => {})
  const engine = build(t, { limits: { maxRunWebhooksPerOwner: 2 } })
  const webhook = { url, secrets: [secret] }
  const start = (sub: string) => engine.start(echo, 'hi', { webhook, principal: { sub, scopes: [] } })
  for (let n = 0; n < 2; n++) await (await start('eve')).result()
  t.equal(await codeOf(() => start('eve')), 'RUN_ERR_TOO_MANY_WEBHOOKS')
  await start('ada')
  await engine.start(echo, 'hi', { principal: { sub: 'eve', scopes: [] } })
})

t.test('a run reports to its own webhook, signed with the secrets of the service', async (t) => {
  const { url, secret, all, until } = await createWebhookReceiver(t)
  const engine = build(t, { webhooks: { allowPrivate: true, secrets: [secret] } })
  await engine.start(echo, 'unreported')
  const one = await engine.start(echo, 'hi', { webhook: { url } })
  const two = await engine.start(echo, 'hi', { webhook: { url, events: ['run.failed'] } })
  const three = await engine.start(echo, 'hi', { webhook: { url }, queue: true })
  await two.result()
  await until(2)
  t.same(
    all.map(({ runId, isVerified }) => [runId, isVerified]),
    [
      [one.runId, true],
      [three.runId, true]
    ]
  )
  const without = build(t)
  t.equal(await codeOf(() => without.start(echo, 'hi', { webhook: { url } })), 'RUN_ERR_WEBHOOK_NO_SECRET')
})

t.test('a repeated start has one webhook', async (t) => {
  const { url, secret, all, until } = await createWebhookReceiver(t)
  const engine = build(t)
  const start = (key: string) => {
    const webhook = { url, secrets: [secret] }
    return engine.start(echo, 'hi', { principal: ada, webhook, startKey: { key, hash: 'h' } })
  }
  const runs = await Promise.all([start('a'), start('a'), start('a')])
  t.equal(new Set(runs.map(({ runId }) => runId)).size, 1)
  await (await start('b')).result()
  await until(2)
  t.equal(new Set(all.map(({ runId }) => runId)).size, 2)
})

t.test('a start that is refused, or that the store fails, leaves no webhook', async (t) => {
  const stores = createInProcessStores()
  const { createRun, added, open } = failingCreation(stores)
  const engine = build(t, { stores: open })
  const webhook = { url: 'http://127.0.0.1:1/hook', secrets: [secret] }
  for (const queue of [false, true]) {
    for (const err of [new errors.RUN_ERR_TOO_MANY_RUNS(), new errors.RUN_ERR_STORE()]) {
      createRun.fault = err
      t.equal(await codeOf(() => engine.start(echo, 'hi', { webhook, queue })), err.code)
    }
  }
  t.equal(added.size, 0)
  createRun.fault = undefined
  await engine.start(echo, 'hi', { webhook })
  t.equal(added.size, 1)
})

t.test('stores without webhooks refuse them', async (t) => {
  const { webhooks: _, ...stores } = createInProcessStores()
  const engine = build(t, { stores })
  const webhook = { url: 'http://127.0.0.1/', secrets: [secret] }
  t.equal(await codeOf(() => engine.webhooks.create(webhook)), 'RUN_ERR_WEBHOOKS_NOT_KEPT')
  t.equal(await codeOf(() => engine.start(echo, 'hi', { webhook })), 'RUN_ERR_WEBHOOKS_NOT_KEPT')
  await (await engine.start(echo, 'hi')).result()
})

t.test('what a closing engine was sending is sent again by the next one', async (t) => {
  const stores = createInProcessStores()
  let isOpen = false
  const { url, secret, until } = await createWebhookReceiver(t, (_message, _count, reply) => {
    if (isOpen) reply.writeHead(204).end()
  })
  const first = build(t, { stores })
  await first.webhooks.create({ url, secrets: [secret] })
  await first.start(echo, 'hi')
  await until(1)
  await first.close()
  isOpen = true
  const second = build(t, { stores })
  await second.recover()
  const [one, two] = await until(2)
  t.equal(one?.id, two?.id)
})

t.test('a webhook of a run does not survive in memory', async (t) => {
  const stores = createInProcessStores()
  const { url, secret, until } = await createWebhookReceiver(t)
  const engine = build(t, { stores })
  const created: string[] = []
  const { create } = stores.webhooks!
  stores.webhooks!.create = (webhook, most) => {
    created.push(webhook.webhookId)
    return create(webhook, most)
  }
  await engine.start(echo, 'hi', { webhook: { url, secrets: [secret] } })
  await until(1)
  while ((await stores.webhooks!.get(created[0]!)) !== undefined)
    await new Promise((resolve) => setImmediate(resolve))
  t.equal(created.length, 1)
})
