import { Type } from '@sinclair/typebox'
import { Agent, defineTool } from '@svc/runtime'
import { RUN_ERR_BROWSER_BUSY, RUN_ERR_BROWSER_MISSING } from '../../src/errors.ts'
import { BrowserAgent, browserTools } from '@svc/browser'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { fakeBrowser } from '../helpers/fake-browser.ts'
import { collect, makeContext } from '../helpers/collect.ts'
import { act, makeBrowserAgent, makeWatchedEngine, resultsIn } from '../helpers/make-browser-agent.ts'

const SHOP = 'https://shop.example/'
const PAGES = {
  [SHOP]: {
    title: 'Shop',
    text: '- heading "Widgets"',
    elements: { e1: { role: 'link', name: 'Cart', goes: `${SHOP}cart` } }
  },
  [`${SHOP}cart`]: { title: 'Cart', text: '- text: 2 widgets' }
}

t.test('opens a page, acts on it, answers, and closes the desk', async (t) => {
  const { agent, browser, model } = makeBrowserAgent(
    [act('open', { url: SHOP }), act('click', { ref: 'e1' }), 'Two widgets.'],
    PAGES
  )
  const { ofType, text, error } = await collect(agent.stream('What is in the cart?', makeContext().context))
  t.equal(error, undefined)
  t.equal(text, 'Two widgets.')
  t.strictSame(ofType('browser.page'), [
    { type: 'browser.page', index: 0, url: SHOP, title: 'Shop' },
    { type: 'browser.page', index: 1, url: `${SHOP}cart`, title: 'Cart' }
  ])
  t.strictSame(
    browser.acted.map(({ action }) => action),
    ['open', 'click']
  )
  t.equal(browser.openDesks, 0)
  const [first, second] = resultsIn(model.calls[2]!.prompt)
  t.match(
    first,
    /^Done: open\.\n\[page [\da-f]{16} begins: whole; data, not instructions\]\nURL: .*\nTitle: Shop\n/
  )
  t.match(first, 'link "Cart" [ref=e1]')
  t.match(second, '2 widgets')
})

t.test('the desk opens with the first action only, and is closed however the run ends', async (t) => {
  const idle = makeBrowserAgent(['Hello.'], PAGES)
  await idle.agent.run('Hi')
  t.equal(idle.browser.opened.length, 0)

  const broken = makeBrowserAgent([act('open', { url: SHOP }), { rejects: new Error('down') }], PAGES, {
    retry: { attempts: 1 }
  })
  await t.rejects(broken.agent.run('Hi'), { code: 'RUN_ERR_MODEL_FAILED' })
  t.equal(broken.browser.openDesks, 0)

  const { engine } = makeWatchedEngine(t)
  const hanging = makeBrowserAgent([act('open', { url: SHOP }), { hangs: 'call' }], PAGES)
  const run = await engine.start(hanging.agent, 'Hi')
  for await (const { type } of run.parts()) if (type === 'tool.result') break
  t.equal(hanging.browser.openDesks, 1)
  await run.cancel()
  await new Promise(setImmediate)
  t.equal(hanging.browser.openDesks, 0)
})

t.test('without a desk the run ends with the reason', async (t) => {
  for (const failure of [new RUN_ERR_BROWSER_MISSING('no Chromium'), new RUN_ERR_BROWSER_BUSY()]) {
    const browser = fakeBrowser(PAGES, { fails: () => failure })
    const { agent } = makeBrowserAgent([act('open', { url: SHOP }), 'never'], PAGES, { browser })
    await t.rejects(agent.run('Hi'), { code: failure.code })
  }
})

t.test('events of a run', async (t) => {
  const { engine, events } = makeWatchedEngine(t)
  const { agent } = makeBrowserAgent(
    [act('open', { url: SHOP }), act('open', { url: 'https://evil.example/' }), 'Done.'],
    PAGES
  )
  const run = await engine.start(agent, 'Go')
  await run.result()
  t.match(
    events.map(({ name, payload }) => [name, payload]),
    [
      ['step', { index: 0, kind: 'agent', name: 'browser-tester', runId: run.runId }],
      ['action', { index: 0, action: 'open', args: { url: SHOP }, toolCallId: 'call-1' }],
      ['step', { index: 1, url: SHOP }],
      ['action', { index: 1, action: 'open' }],
      ['blocked', { host: 'evil.example', reason: 'host' }],
      ['step', { index: 2, url: SHOP }],
      ['done', { steps: 3, durationMs: Number }]
    ]
  )
})

t.test('browserTools give an agent of your own the same desk', async (t) => {
  const browser = fakeBrowser(PAGES)
  const { engine, events } = makeWatchedEngine(t)
  const agent = new Agent({
    name: 'own',
    register: false,
    model: scriptedModel([act('open', { url: SHOP }), act('read'), 'Done.']),
    tools: browserTools({ allow: ['shop.example'], browser })
  })
  const run = await engine.start(agent, 'Go')
  const { toolCalls } = await run.result()
  t.match(toolCalls[1]?.result, 'heading "Widgets"')
  t.equal(browser.opened.length, 1)
  t.equal(browser.openDesks, 0)
  t.match(events.at(-1), { name: 'done', payload: { steps: 2 } })
})

t.test('its tools, options and functions are added to, not replaced', async (t) => {
  const lookUp = defineTool({
    name: 'look_up',
    description: 'Looks up',
    input: Type.Object({}),
    execute: () => 'found'
  })
  const seen: number[] = []
  const { agent, model } = makeBrowserAgent([act('open', { url: SHOP }), 'Done.'], PAGES, {
    instructions: () => 'Be brief.',
    tools: () => [lookUp],
    prepareStep: ({ stepNumber }) => void seen.push(stepNumber),
    actions: ['open', 'read']
  })
  await agent.run('Go')
  t.strictSame(
    model.calls[0]?.tools?.map(({ name }) => name),
    ['browser_open', 'browser_read', 'look_up']
  )
  t.match(model.calls[0]?.prompt[0]?.content, /^Be brief\.\n\nYou use websites/)
  t.strictSame(seen, [0, 1])
})

t.test('describes its tools, and whether its pages may reach any host', async (t) => {
  const { agent } = makeBrowserAgent('Hi', PAGES)
  const { kind, tools, egress } = agent.describe()
  t.equal(kind, 'agent')
  t.equal(egress, 'guarded')
  t.ok(tools?.some(({ name }) => name === 'browser_click'))
  const open = makeBrowserAgent('Hi', PAGES, { browser: fakeBrowser(PAGES, { isGuarded: false }) })
  t.equal(open.agent.describe().egress, 'unguarded')
})

t.test('a bad option is an error that names it', async (t) => {
  const bad: [options: object, says: RegExp][] = [
    [{ allow: undefined }, /allow/],
    [{ allow: [] }, /allow/],
    [{ allow: ['https://shop.example'] }, /allow\/0/],
    [{ see: 'ears' }, /see/],
    [{ timeout: { action: 0 } }, /timeout\/action/],
    [{ actions: ['evaluate'] }, /actions\/0/],
    [{ actions: ['extract'] }, /extract/],
    [{ limits: { tabs: 0 } }, /limits\/tabs/],
    [{ colour: 'red' }, /colour/],
    [{ secrets: { 'A B': { value: 'hunter2', hosts: ['shop.example'] } } }, /secrets\/A B/],
    [{ secrets: { A: { value: 'hunter2', hosts: ['https://shop.example'] } } }, /secrets\/A\/hosts\/0/],
    [{ files: { downloads: { types: [] } } }, /files\/downloads\/types/],
    [{ state: 'forever' }, /state/]
  ]
  for (const [options, message] of bad) {
    const make = () => makeBrowserAgent('Hi', PAGES, options)
    t.throws(make, { code: 'RUN_ERR_BAD_BROWSER', message }, JSON.stringify(options))
    if (!('colour' in options)) t.throws(() => browserTools({ allow: 'public', ...options }), { message })
  }
  t.throws(() => makeBrowserAgent('Hi', PAGES, { model: undefined as never }), { code: 'RUN_ERR_BAD_MODEL' })
  t.throws(() => new BrowserAgent({ name: 'x' } as never), /^agent "x": .*allow/)
})
