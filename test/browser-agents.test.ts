import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registryPlugin, { createRegistry, type Registry } from '@svc/registry'
import { Team, Workflow } from '@svc/runtime'
import { BrowserAgent, chromium, findChromium, risky } from '@svc/browser'
import { scriptedModel, type ScriptedTurn } from '@svc/runtime/testing'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { serve, type Served } from './helpers/serve.ts'

const found = await findChromium().catch(() => undefined)
const needsChromium = { skip: found === undefined && 'no Chromium is installed' }
// Chromium's own sandbox does not work for root, as which tests run in containers.
const browser = chromium({ sandbox: false })
t.teardown(() => browser.close())

/** A shop with an order form. */
async function serveShop(t: Test) {
  const orders: unknown[] = []
  const shop = Fastify({ forceCloseConnections: true })
  t.teardown(() => shop.close())
  shop.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_, body, done) =>
    done(null, Object.fromEntries(new URLSearchParams(body as string)))
  )
  const page = (body: string) => `<!doctype html><html lang="en"><title>Shop</title>${body}</html>`
  const form =
    '<form method="post" action="/order"><label>Item <input name="item"></label><button>Order</button></form>'
  shop.get('/', (_, reply) => reply.type('text/html').send(page(form)))
  shop.post('/order', (request, reply) => {
    orders.push(request.body)
    return reply.type('text/html').send(page(`<p>Your order number is ${orders.length}.</p>`))
  })
  const origin = await shop.listen({ port: 0, host: '127.0.0.1' })
  return { origin, host: origin.slice('http://'.length), orders }
}

/** Orders what it is asked for: what comes next follows from the newest page. */
function buyer(origin: string) {
  return scriptedModel(({ prompt }): ScriptedTurn | string => {
    const last = prompt.at(-1)!
    const seen = last.role === 'tool' ? JSON.stringify(last.content) : ''
    const refOf = (name: string) => new RegExp(String.raw`\\"${name}\\" \[ref=(\w+)\]`).exec(seen)?.[1]
    const act = (action: string, args: object) => ({
      toolCalls: [{ toolName: `browser_${action}`, args, toolCallId: action }]
    })
    const number = /Your order number is (\d+)/.exec(seen)?.[1]
    if (number !== undefined) return `Order ${number}.`
    if (seen.includes('denied')) return 'Not ordered.'
    if (seen === '') return act('open', { url: `${origin}/` })
    return act('type', { ref: refOf('Item'), text: 'widget', submit: true })
  })
}

function register(registry: Registry, origin: string, host: string): void {
  const base = { registry, allow: [], privateHosts: [host], browser }
  const scout = new BrowserAgent({
    ...base,
    name: 'scout',
    model: buyer(origin),
    approval: risky(['submit']),
    screenshots: 'steps'
  })
  const fast = new BrowserAgent({ ...base, name: 'fast', model: buyer(origin) })
  new BrowserAgent({
    ...base,
    name: 'stuck',
    model: scriptedModel((_, index) =>
      index === 0
        ? { toolCalls: [{ toolName: 'browser_open', args: { url: `${origin}/` } }] }
        : { hangs: 'call' }
    )
  })
  new Team({ registry, name: 'buyers', mode: 'sequence', members: [fast, scout] })
  new Workflow({ registry, name: 'buy', steps: (flow) => flow.step('order', fast) })
}

async function serveAll(t: Test) {
  const shop = await serveShop(t)
  const registry = createRegistry()
  register(registry, shop.origin, shop.host)
  const served = await serve(t, async (app) => {
    await app.register(registryPlugin, { registry })
    await app.register(http)
    await app.register(gateway)
    await app.register(a2a, { basePath: '/a2a' })
  })
  return { shop, served, client: await served.connect() }
}

/** Waits for the approval of a run. */
async function approvalOf({ app }: Served, runId: string) {
  for await (const part of app.runs.parts(runId)) if (part.type === 'tool.approval.request') return part
  throw new Error('nothing was asked')
}

t.test('an order over each surface, approved over another', needsChromium, async (t) => {
  const { shop, served, client } = await serveAll(t)
  const message = {
    role: 'user',
    messageId: 'm1',
    parts: [{ kind: 'text', text: 'Order a widget' }],
    metadata: { agentName: 'scout' }
  }
  const starts: Record<string, () => Promise<string>> = {
    http: async () =>
      (
        await served.ask(
          'POST',
          '/agents/scout/run',
          { input: 'Order a widget' },
          { prefer: 'respond-async' }
        )
      ).body.runId,
    socket: async () => (await client.ask('agent.run', { name: 'scout', input: 'Order a widget' })).runId,
    a2a: async () =>
      (await served.rpc('/a2a', 'message/send', { message, configuration: { blocking: false } })).id
  }
  const answers: Record<string, (approvalId: string, runId: string) => Promise<unknown>> = {
    http: (approvalId) => served.ask('POST', `/approvals/${approvalId}`, { approved: true }),
    socket: (approvalId) => client.ask('approval.answer', { approvalId, approved: true }),
    a2a: (approvalId, taskId) =>
      served.rpc('/a2a', 'message/send', {
        message: {
          role: 'user',
          messageId: approvalId,
          taskId,
          parts: [{ kind: 'data', data: { approvalId, approved: true } }]
        }
      })
  }
  for (const [from, to] of [
    ['http', 'socket'],
    ['socket', 'a2a'],
    ['a2a', 'http']
  ] as const) {
    const before = shop.orders.length
    const runId = await starts[from]!()
    const { approvalId, args } = await approvalOf(served, runId)
    t.match(args, {
      text: 'widget',
      about: /^type "widget" into the textbox "Item" on 127\.0\.0\.1:\d+; its form goes to/
    })
    t.equal(shop.orders.length, before, 'nothing is ordered before')
    await answers[to]!(approvalId, runId)
    const parts = []
    for await (const part of served.app.runs.parts(runId)) parts.push(part)
    t.strictSame(shop.orders.slice(before), [{ item: 'widget' }], `${from}, ${to}`)
    t.equal(parts.at(-1)?.type, 'finish')
    t.match(
      parts.filter(({ type }) => type === 'browser.page'),
      [{ index: 0, title: 'Shop' }, { index: 1 }]
    )
    const file = parts.find((part) => part.type === 'file')
    const { status, headers } = await served.ask('GET', `/runs/${runId}/files/${file?.fileId}`)
    t.equal(status, 200)
    t.equal(headers.get('content-type'), 'image/jpeg')
  }
})

t.test('a denied order is not sent', needsChromium, async (t) => {
  const { shop, served, client } = await serveAll(t)
  const { body } = await served.ask('POST', '/agents/scout/run', { input: 'x' }, { prefer: 'respond-async' })
  const { approvalId } = await approvalOf(served, body.runId)
  await client.ask('approval.answer', { approvalId, approved: false, reason: 'too many' })
  const run = await served.app.runs.get(body.runId)
  t.strictSame(shop.orders, [])
  t.ok(run)
})

t.test('a member of a team and a step of a workflow', needsChromium, async (t) => {
  const { shop, served } = await serveAll(t)
  const { body } = await served.ask('POST', '/workflows/buy/run', { input: 'Order a widget' })
  t.match(body, { text: 'Order 1.' })
  const team = await served.ask('POST', '/teams/buyers/run', { input: 'Order' }, { prefer: 'respond-async' })
  const { approvalId, source } = await approvalOf(served, team.body.runId)
  t.strictSame(source, ['scout'])
  await served.ask('POST', `/approvals/${approvalId}`, { approved: true })
  for await (const part of served.app.runs.parts(team.body.runId))
    if (part.type === 'finish') t.equal(part.finishReason, 'stop')
  t.equal(shop.orders.length, 3)
})

t.test('a canceled run closes its page at once', needsChromium, async (t) => {
  const { served, client } = await serveAll(t)
  const ended = new Promise((resolve) => void served.app.events.on('browser.error', resolve))
  const { body } = await served.ask('POST', '/agents/stuck/run', { input: 'x' }, { prefer: 'respond-async' })
  for await (const { type } of served.app.runs.parts(body.runId)) if (type === 'tool.result') break
  t.match(await client.ask('run.cancel', { runId: body.runId }), { ok: true })
  t.match(await ended, { error: { code: 'RUN_ERR_CANCELED' } })
})
