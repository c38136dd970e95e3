import type { ClientToServerEvents, ServerToClientEvents } from '@svc/gateway'
import { scriptedModel } from '@svc/runtime/testing'
import { io, type Socket } from 'socket.io-client'
import t, { type Test } from 'tap'
import { needsChromium, startScout } from '../helpers/scout-app.ts'

// Each test browses with a real Chromium, on a machine that may be busy.
t.setTimeout(180_000)

const ORDER =
  'Order 2 enamel mugs. Name: Ada; E-mail: ada@example.org; Address: 1 Quay Street, Galway; Delivery: by courier; Terms: yes'

// The demos of one process share their scout, so that the others start after this one has ended.
t.test('the scout of one demo', needsChromium, async (t) => {
  const scout = await startScout(t)

  await t.test('answers from the pages of the shop, and names the page', async (t) => {
    const { origin, ask } = scout
    for (const [question, answer, page] of [
      ['How much is the rain jacket in size L?', 'Rain jacket: Size L, Price €94.00, In stock 2', 'products'],
      ['When are you open on Thursday?', 'Thursday: Hours 10:00–20:30', 'hours'],
      ['What is your phone number?', 'Phone: At +353 20 910 0174', 'contact'],
      ['Which tea is the cheapest?', 'Peppermint tea: Price €4.50, In stock 40', 'products'],
      ['What is the most expensive tea?', 'White peony tea: Price €18.60, In stock 4', 'products'],
      ['Are there enamel mugs in stock?', 'Enamel mug: Price €11.50, In stock 48', 'products']
    ] as const)
      t.equal((await ask(question)).text, `${answer}\n\nSource: ${origin}/shop/${page}.html`, question)
    t.match((await ask('What does a submarine cost?')).text, /The page names nothing of the kind/)
  })

  await t.test('each step can be followed: pages as parts, screenshots as files', async (t) => {
    const { app, origin, ask } = scout
    const { runId, toolCalls, files = [] } = await ask('When are you open on Sunday?')
    t.strictSame(
      toolCalls.map(({ toolName }) => toolName),
      ['browser_open', 'browser_click']
    )
    const pages = []
    for await (const part of app.runs.parts(runId)) if (part.type === 'browser.page') pages.push(part)
    t.match(pages.at(-1), { url: `${origin}/shop/hours.html`, title: /^Opening hours/ })
    t.equal(files.length, 2)
    for (const { fileId, purpose } of files) {
      t.equal(purpose, 'screenshot')
      const response = await fetch(`${origin}/api/runs/${runId}/files/${fileId}`)
      t.equal(response.headers.get('content-type'), 'image/jpeg')
      const bytes = new Uint8Array(await response.arrayBuffer())
      t.strictSame(Array.from(bytes.slice(0, 3)), [0xff, 0xd8, 0xff])
    }
  })

  await t.test('an order waits at the last click, and is approved from another surface', async (t) => {
    const { origin, begin, approvalOf, resultOf, request } = scout
    const run = await begin(ORDER)
    const approvalId = await approvalOf(run)
    const { approvals } = await request<{ approvals: object[] }>('/api/approvals')
    t.match(approvals, [{ approvalId, toolName: 'browser_click' }])
    t.equal(approvals.length, 1)
    const socket = await connect(t, origin)
    t.same(await socket.emitWithAck('approval.answer', { approvalId, approved: true }), { ok: true })
    const { text } = await resultOf(run)
    t.match(text, /^Your order number is HS-\d{6}\.\n\nSource: .*\/shop\/place-order\.html\?/)
    t.match(text, /\?product=Enamel\+mug&quantity=2&name=Ada&.*&delivery=by\+courier&terms=on$/)
  })

  await t.test('an order that is denied is not placed', async (t) => {
    const { begin, approvalOf, resultOf, request } = scout
    const run = await begin(ORDER)
    const answer = await request(`/api/approvals/${await approvalOf(run)}`, {
      approved: false,
      reason: 'too many mugs'
    })
    t.match(answer, { runId: run.runId })
    t.match(await resultOf(run), { text: /^I stopped: .*too many mugs/ })
  })

  await t.test('what the form lacks is not made up', async (t) => {
    const { text, toolCalls } = await scout.ask('Buy a glass teapot. Name: Ada')
    t.match(text, /^To order I also need: E-mail, Address, Terms\./)
    t.equal(toolCalls.length, 2)
  })

  await t.test('it runs over sockets and A2A', async (t) => {
    const { origin, request } = scout
    const socket = await connect(t, origin)
    const done = new Promise((resolve) => socket.once('agent.done', resolve))
    await socket.emitWithAck('agent.run', { name: 'scout', input: 'What does the glass teapot cost?' })
    t.match(await done, { output: { text: /^Glass teapot: Price €32\.90/ } })

    const message = {
      kind: 'message',
      messageId: 'm1',
      role: 'user',
      parts: [{ kind: 'text', text: 'What is your e-mail address?' }],
      metadata: { agentName: 'scout' }
    }
    const task = await request('/a2a', { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } })
    t.match(task, { result: { status: { state: 'completed' } } })
    t.match(JSON.stringify(task), /E-mail: At hello@harbour\.example/)
  })

  await t.test('a canceled run gives its place free at once', async (t) => {
    const { app, begin, partOf, ask } = scout
    // More than may browse at the same time.
    for (let count = 0; count < 10; count++) {
      const run = await begin('What is the phone number?')
      await partOf(run, 'browser.page')
      await app.runs.cancel(run.runId)
      t.match(await app.runs.get(run.runId), { status: 'canceled' })
    }
    t.match((await ask('What does the enamel mug cost?')).text, /€11\.50/)
  })
})

t.test('an order sent by Enter waits for an approval too', needsChromium, async (t) => {
  let origin = ''
  const model = scriptedModel(({ prompt }, step) => {
    const page = JSON.stringify(prompt.at(-1)).replaceAll('\\\\', '').replaceAll('\\"', '"')
    const refOf = (element: string) => new RegExp(`${element}[^\\n]*?\\[ref=(\\w+)\\]`).exec(page)?.[1]
    const calls = [
      ['open', { url: `${origin}/shop/order.html` }],
      ['type', { ref: refOf('textbox "Name"'), text: 'Ada', submit: true }]
    ] as const
    const [action, args] = calls[step] ?? []
    return action === undefined ? 'Done.' : { toolCalls: [{ toolName: `browser_${action}`, args }] }
  })
  const scout = await startScout(t, { model })
  origin = scout.origin
  const run = await scout.begin('Go')
  const { toolName, args } = await scout.partOf(run, 'tool.approval.request')
  t.match({ toolName, args }, { toolName: 'browser_type', args: { text: 'Ada', submit: true } })
})

t.test('without Chromium its runs fail with a code that says so, and nothing else does', async (t) => {
  const path = process.env['CHROMIUM_PATH']
  process.env['CHROMIUM_PATH'] = '/none'
  t.teardown(() => {
    if (path === undefined) delete process.env['CHROMIUM_PATH']
    else process.env['CHROMIUM_PATH'] = path
  })
  const { ask, request } = await startScout(t)
  t.match(await ask('What is your phone number?'), {
    statusCode: 500,
    code: 'RUN_ERR_BROWSER_MISSING',
    message: /chromium-headless-shell/
  })
  t.match(await request('/api/agents/assistant/run', { input: 'What is 6 * 7?' }), { text: /42/ })
})

type Client = Socket<ServerToClientEvents, ClientToServerEvents>

async function connect(t: Test, url: string): Promise<Client> {
  const socket: Client = io(url, { transports: ['websocket'] })
  t.teardown(() => void socket.disconnect())
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  return socket
}
