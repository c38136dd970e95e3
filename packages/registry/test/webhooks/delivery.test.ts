import { Type } from '@sinclair/typebox'
import {
  createInProcessStores,
  defineRunnable,
  type RunEngine,
  type RunEngineOptions,
  type Stores
} from '@svc/registry'
import { codeOf } from '@svc/testing'
import t from 'tap'
import { buildEngine } from '../helpers/collect.ts'
import { cluster } from '../helpers/engine-cluster.ts'
import { createWebhookReceiver } from '../helpers/webhook-receiver.ts'

const keepAlive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(keepAlive))

const webhooks = { allowPrivate: true, backoff: 1, timeout: 2_000 }
const echo = defineRunnable({ kind: 'agent', name: 'echo', resumable: true, run: (input) => String(input) })
const broken = defineRunnable({
  kind: 'agent',
  name: 'broken',
  run() {
    throw new Error('secret')
  }
})
const asking = defineRunnable({
  kind: 'agent',
  name: 'asking',
  async *stream(_input, context) {
    for (const message of ['One?', 'Two?']) await context.ask({ message, schema: Type.Object({}) })
    yield { type: 'text', text: 'done' }
  }
})

function build(t: Parameters<typeof buildEngine>[0], options: RunEngineOptions = {}) {
  return buildEngine(t, { webhooks, ...options })
}

/** Resolves when the outbox is as asked for. */
async function outbox({ webhooks }: RunEngine, isReached: (states: string[]) => boolean): Promise<void> {
  for (;;) {
    const { deliveries } = await webhooks.listDeliveries({ limit: 100 })
    if (isReached(deliveries.map(({ state }) => state))) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}
const isEmpty = (states: string[]) => states.length === 0
const hasDead = (states: string[]) => states.length > 0 && states.every((state) => state === 'dead')

t.test('messages of all events are verified by the library of Standard Webhooks', async (t) => {
  const { url, secret, until } = await createWebhookReceiver(t)
  const engine = build(t)
  await engine.webhooks.create({ url, secrets: [secret] })
  const done = await engine.start(echo, 'hi', { metadata: { customer: 'c-17' } })
  await until(1)
  const failed = await engine.start(broken, 'hi')
  const all = await until(2)
  const asked = await engine.start(asking, 'hi')
  for (const n of [1, 2]) {
    await until(2 + n)
    await engine.answer(`${asked.runId}.${n}`, { action: 'accept', content: {} })
  }
  await until(5)
  await outbox(engine, isEmpty)
  t.same(
    all.map(({ type, runId, isVerified }) => [type, runId, isVerified]),
    [
      ['run.completed', done.runId, true],
      ['run.failed', failed.runId, true],
      ['run.input-required', asked.runId, true],
      ['run.input-required', asked.runId, true],
      ['run.completed', asked.runId, true]
    ]
  )
  const [first, second, third] = all.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
  t.match(first, { timestamp: /Z$/, data: { kind: 'agent', name: 'echo', metadata: { customer: 'c-17' } } })
  t.match(second, { data: { error: { code: 'RUN_ERR_FAILED', retryable: false } } })
  t.match(third, { data: { input: { inputId: `${asked.runId}.1`, kind: 'question' } } })
  t.notOk(all.some(({ body }) => body.includes('secret')))
})

t.test('a message is repeated with the same id until it is taken', async (t) => {
  const engine = build(t, { webhooks: { ...webhooks, timeout: 100 } })
  const { url, secret, all, until } = await createWebhookReceiver(t, (_message, count, reply) => {
    if (count === 1) reply.writeHead(500).end()
    else if (count === 2) reply.writeHead(302, { location: '/elsewhere' }).end()
    else if (count === 3) reply.socket?.destroy()
    else if (count === 4) return
    else if (count === 5) reply.writeHead(404).end()
    else reply.writeHead(200).end()
  })
  await engine.webhooks.create({ url, secrets: [secret] })
  await (await engine.start(echo, 'hi')).result()
  await until(6)
  await outbox(engine, isEmpty)
  t.equal(all.length, 6)
  t.equal(new Set(all.map(({ id }) => id)).size, 1)
  t.equal(new Set(all.map(({ body }) => body)).size, 1)
  t.ok(all.every(({ isVerified }) => isVerified))
})

t.test('an answer that comes too late leads to the same message again', async (t) => {
  const stores = createInProcessStores()
  let lost = 0
  const forgetful: Stores = {
    ...stores,
    webhooks: {
      ...stores.webhooks!,
      settle(...asked) {
        if (lost++ === 0) throw new Error('The store is away')
        return stores.webhooks!.settle(...asked)
      },
      claim: (query) => stores.webhooks!.claim({ ...query, until: query.now })
    }
  }
  const engine = build(t, { stores: forgetful })
  const { url, secret, until } = await createWebhookReceiver(t)
  await engine.webhooks.create({ url, secrets: [secret] })
  await (await engine.start(echo, 'hi')).result()
  const [first, second] = await until(2)
  t.equal(first?.id, second?.id)
})

t.test('the messages of a run arrive in order, however the first one fails', async (t) => {
  const engine = build(t)
  const { url, secret, all, until } = await createWebhookReceiver(t, ({ id }, _count, reply) => {
    const attempts = all.filter((each) => each.id === id).length
    reply.writeHead(attempts < 3 ? 503 : 204).end()
  })
  await engine.webhooks.create({ url, secrets: [secret] })
  const { runId } = await engine.start(asking, 'hi')
  await until(1)
  for (const n of [1, 2]) {
    while ((await engine.findInput(`${runId}.${n}`)) === undefined)
      await new Promise((resolve) => setImmediate(resolve))
    await engine.answer(`${runId}.${n}`, { action: 'accept', content: {} })
  }
  await until(9)
  t.same(
    all.map(({ id }) => id.split('_')[1]?.length === 1 && id.split('_')[1]),
    ['1', '1', '1', '2', '2', '2', false, false, false]
  )
})

t.test('a message that was given up is listed, and sent again by hand', async (t) => {
  let status = 500
  const errors: object[] = []
  const log = { debug() {}, info() {}, warn() {}, error: (details: object) => void errors.push(details) }
  const engine = build(t, { webhooks: { ...webhooks, attempts: 3 }, log })
  const { url, secret, all, until } = await createWebhookReceiver(t, (_message, _count, reply) =>
    reply.writeHead(status).end()
  )
  await engine.webhooks.create({ url, secrets: [secret] })
  const { runId } = await engine.start(echo, 'hi')
  await until(3)
  await outbox(engine, hasDead)
  const [dead] = (await engine.webhooks.listDeliveries({ state: 'dead', limit: 9 })).deliveries
  t.match(dead, { runId, event: 'run.completed', attempts: 3, lastStatus: 500, nextAt: undefined })
  t.match(errors, [{ deliveryId: dead!.deliveryId, runId, lastStatus: 500 }])
  t.notOk(JSON.stringify(errors).includes(secret))
  t.equal(await codeOf(() => engine.webhooks.retry('missing')), 'RUN_ERR_DELIVERY_NOT_FOUND')
  status = 204
  await engine.webhooks.retry(dead!.deliveryId)
  await until(4)
  await outbox(engine, isEmpty)
  t.equal(all[3]?.id, all[0]?.id)
  status = 410
  await engine.start(echo, 'hi')
  await until(5)
  await outbox(engine, hasDead)
  t.equal(all.length, 5, 'a receiver that is gone is not asked again')
})

t.test('a receiver that hangs does not hold up the others', async (t) => {
  const engine = build(t, { webhooks: { ...webhooks, timeout: 60_000, concurrency: 6, perHost: 2 } })
  const hanging = await createWebhookReceiver(t, () => {})
  const good = await createWebhookReceiver(t)
  await engine.webhooks.create({ url: hanging.url, secrets: [hanging.secret] })
  await engine.webhooks.create({ url: good.url, secrets: [good.secret] })
  for (let n = 0; n < 20; n++) await (await engine.start(echo, 'hi')).result()
  await good.until(20)
  t.equal(hanging.all.length, 2)
})

t.test('an owner whose receivers hang holds up no other owner', async (t) => {
  const engine = build(t, { webhooks: { ...webhooks, timeout: 60_000, concurrency: 8, perHost: 2 } })
  const [eve, ada] = [{ principal: { sub: 'eve', scopes: [] } }, { principal: { sub: 'ada', scopes: [] } }]
  const hanging = await Promise.all(Array.from({ length: 12 }, () => createWebhookReceiver(t, () => {})))
  for (const { url, secret } of hanging) await engine.webhooks.create({ url, secrets: [secret] }, eve)
  await engine.start(echo, 'hi', eve)
  await Promise.race(hanging.map(({ until }) => until(1)))
  const good = await createWebhookReceiver(t)
  await engine.webhooks.create({ url: good.url, secrets: [good.secret] }, ada)
  for (let n = 0; n < 3; n++) await engine.start(echo, 'hi', ada)
  await good.until(3)
  const sent = hanging.reduce((sum, { all }) => sum + all.length, 0)
  t.equal(sent, 4, 'half of what it leaves free')
})

t.test('a host that answers nothing is left alone for a while', async (t) => {
  const engine = build(t, { webhooks: { ...webhooks, timeout: 30, attempts: 100, perHost: 2 } })
  const hanging = await createWebhookReceiver(t, () => {})
  await engine.webhooks.create({ url: hanging.url, secrets: [hanging.secret] })
  for (let n = 0; n < 6; n++) await engine.start(echo, 'hi')
  await hanging.until(5)
  const good = await createWebhookReceiver(t)
  await engine.webhooks.create({ url: good.url, secrets: [good.secret] })
  const begun = performance.now()
  let runs = 0
  // Long enough for 20 attempts more.
  while (performance.now() - begun < 300) {
    await engine.start(echo, 'hi')
    await good.until(++runs)
  }
  t.ok(hanging.all.length <= 10, `${hanging.all.length} attempts`)
})

t.test('secrets are rotated: each message is signed with all of them', async (t) => {
  const engine = build(t)
  const [one, two] = [await createWebhookReceiver(t), await createWebhookReceiver(t)]
  const created = await engine.webhooks.create({ url: one.url, secrets: [one.secret] })
  await engine.webhooks.update(created.webhookId, { secrets: [two.secret, one.secret] })
  await engine.start(echo, 'hi')
  t.ok((await one.until(1))[0]?.isVerified, 'by the old one')
  await engine.webhooks.update(created.webhookId, { url: two.url })
  await engine.start(echo, 'hi')
  t.ok((await two.until(1))[0]?.isVerified, 'by the new one')
  await engine.webhooks.update(created.webhookId, { secrets: [one.secret] })
  await engine.start(echo, 'hi')
  t.notOk((await two.until(2))[1]?.isVerified, 'the other one is not used any more')
})

t.test('a node sends what a dead one has left', async (t) => {
  const [first, second] = await cluster(t, [echo], 2, { webhooks })
  const { url, secret, until } = await createWebhookReceiver(t)
  await first!.engine.webhooks.create({ url, secrets: [secret] })
  await first!.engine.webhooks.close()
  const { runId } = await first!.engine.start(echo, 'hi')
  const [message] = await until(1)
  t.match(message, { runId, isVerified: true })
  t.ok(second)
})
