import type { NumberedPart } from '@svc/registry'
import { risky, type RiskKind } from '@svc/browser'
import { defineTool } from '@svc/runtime'
import { Type } from '@sinclair/typebox'
import t, { type Test } from 'tap'
import type { FakeElement, FakePage } from '../helpers/fake-browser.ts'
import { act, makeBrowserAgent, makeWatchedEngine } from '../helpers/make-browser-agent.ts'

const SHOP = 'https://shop.example/'
const ALL: RiskKind[] = ['submit', 'pay', 'delete', 'upload', 'download', 'newHost']
const form = { method: 'post', action: `${SHOP}orders` } as const
const elements: Record<string, FakeElement> = {
  e1: { name: 'Send', submits: true, form },
  e2: { name: 'Buy now', goes: SHOP },
  e3: { name: 'Konto löschen' },
  e4: { role: 'textbox', tag: 'input', name: 'Amount', form },
  e5: { role: 'link', name: 'Report', isDownload: true, offers: { filename: 'r.csv', content: 'a' } },
  e6: { role: 'link', name: 'Partner', href: 'https://other.example/' },
  e7: { name: 'Menu' },
  e8: { role: 'textbox', tag: 'input', name: 'Note' },
  e9: { name: 'Repay later', href: `${SHOP}help` },
  e10: { role: 'checkbox', tag: 'input', name: 'Pay later', form },
  e11: { name: '\u202EyaP\u200B Buy' }
}
const pages: Record<string, FakePage> = {
  [SHOP]: { title: 'Shop', text: 'The code is violet-4711-x.', elements },
  'https://other.example/': { title: 'Other' },
  'https://other.example/?q=violet-4711-x': {},
  'https://other.example/?q=widgets': {}
}

/** Runs actions after the shop was opened; answers each approval with `answer`, and returns what was asked for. */
async function ask(
  t: Test,
  turns: ReturnType<typeof act>[],
  {
    kinds = ALL,
    input = `Use ${SHOP}`,
    answer = true
  }: { kinds?: RiskKind[]; input?: string; answer?: boolean } = {}
) {
  const { engine } = makeWatchedEngine(t)
  const { agent, browser } = makeBrowserAgent([act('open', { url: SHOP }), ...turns, 'Done.'], pages, {
    approval: risky(kinds),
    files: { uploads: true, downloads: { types: ['text/csv'] } }
  })
  const run = await engine.start(agent, input)
  const asked: unknown[] = []
  for await (const part of run.parts()) {
    if (part.type !== 'tool.approval.request') continue
    asked.push((part.args as { about: string }).about)
    await engine.answer(part.approvalId, { approved: answer })
  }
  return { asked, result: await run.result(), acted: browser.acted.map(({ action }) => action) }
}

t.test('what an action is, is decided by facts of the page', async (t) => {
  const cases: [turn: ReturnType<typeof act>, kinds: string | undefined][] = [
    [act('click', { ref: 'e1' }), '(submit)'],
    [act('click', { ref: 'e2' }), '(pay)'],
    [act('click', { ref: 'e3' }), '(delete)'],
    [act('type', { ref: 'e4', text: '5', submit: true }), '(submit)'],
    [act('type', { ref: 'e4', text: 'a\nb' }), '(submit)'],
    [act('type', { ref: 'e4', text: '5' }), undefined],
    [act('type', { ref: 'e1', text: 'x' }), '(submit)'],
    [act('check', { ref: 'e1', checked: true }), '(submit)'],
    [act('select', { ref: 'e1', values: ['x'] }), '(submit)'],
    [act('type', { ref: 'e3', text: 'x' }), '(delete)'],
    [act('type', { ref: 'e6', text: 'x' }), '(newHost)'],
    [act('type', { text: 'x' }), undefined],
    [act('type', { ref: 'e8', text: 'pay' }), undefined],
    [act('check', { ref: 'e10', checked: true }), undefined],
    [act('press', { ref: 'e4', key: 'Enter' }), '(submit)'],
    [act('press', { key: 'Enter' }), '(submit)'],
    [act('press', { ref: 'e4', key: 'Tab' }), undefined],
    [act('press', { ref: 'e8', key: 'Enter' }), undefined],
    [act('click', { ref: 'e5' }), '(download)'],
    [act('download', { ref: 'e5' }), '(download)'],
    [act('click', { ref: 'e6' }), '(newHost)'],
    [act('click', { ref: 'e7' }), undefined],
    [act('click', { ref: 'e9' }), undefined],
    [act('hover', { ref: 'e1' }), undefined],
    [act('click', { ref: 'e99' }), undefined]
  ]
  for (const [turn, kinds] of cases) {
    const { asked } = await ask(t, [turn])
    const [about] = asked as string[]
    if (kinds === undefined) t.strictSame(asked, [], JSON.stringify(turn))
    else t.ok(about?.endsWith(kinds), `${JSON.stringify(turn)}: ${about}`)
  }
})

t.test('a request says what will happen, where', async (t) => {
  const { asked } = await ask(t, [
    act('click', { ref: 'e1' }),
    act('type', { ref: 'e4', text: '5', submit: true })
  ])
  t.strictSame(asked, [
    'click the button "Send" on shop.example; its form goes to "https://shop.example/orders" (submit)',
    'type "5" into the textbox "Amount" on shop.example; its form goes to "https://shop.example/orders" (submit)'
  ])
})

t.test('a denied action does not happen, and the run continues', async (t) => {
  const { result, acted } = await ask(t, [act('click', { ref: 'e1' })], { answer: false })
  t.match(result.toolCalls[1], { error: { code: 'RUN_ERR_APPROVAL_DENIED' } })
  t.strictSame(acted, ['open'])
  t.equal(result.text, 'Done.')
})

t.test('the approver sees the whole host, and no marks of direction', async (t) => {
  const host = `shop.example.${'a'.repeat(60)}.${'b'.repeat(60)}.evil.example`
  const [about] = (await ask(t, [act('open', { url: `https://${host}/${'p'.repeat(500)}` })])).asked
  t.match(about, new RegExp(`^Opens "https://${host}/p+" \\(newHost\\)$`))
  const { asked } = await ask(t, [act('click', { ref: 'e11' })])
  t.match(asked, [/^click the button "yaP Buy"/])
})

t.test('a host that was neither visited nor named by the user', async (t) => {
  const other = act('open', { url: 'https://other.example/' })
  t.match((await ask(t, [other])).asked, [/^Opens "https:\/\/other\.example\/" \(newHost\)$/])
  t.strictSame((await ask(t, [other], { input: 'Compare shop.example and other.example' })).asked, [])
  t.equal((await ask(t, [other, other])).asked.length, 1, 'visited then')
  t.equal((await ask(t, [other], { input: 'Go' })).asked.length, 2, 'the first page too')
  for (const name of ['another.example', 'other.example.evil', 'x-other.example'])
    t.equal((await ask(t, [other], { input: `Use ${SHOP} and ${name}` })).asked.length, 1, name)
})

t.test('text of one site does not leave in a URL of another', async (t) => {
  const input = 'Compare shop.example and other.example'
  const { asked } = await ask(t, [act('open', { url: 'https://other.example/?q=violet-4711-x' })], { input })
  t.match(asked, [/passes on text of another site: "violet-4711-x" \(newHost\)$/])
  t.strictSame(
    (await ask(t, [act('open', { url: 'https://other.example/?q=widgets' })], { input })).asked,
    []
  )
  const asks = `${input}: look for violet-4711-x`
  t.strictSame(
    (await ask(t, [act('open', { url: 'https://other.example/?q=violet-4711-x' })], { input: asks })).asked,
    [],
    'the user may'
  )
})

t.test('only the kinds that were asked for wait', async (t) => {
  const { asked } = await ask(t, [act('click', { ref: 'e2' }), act('click', { ref: 'e3' })], {
    kinds: ['delete']
  })
  t.equal(asked.length, 1)
  t.throws(() => risky([]), { code: 'RUN_ERR_BAD_BROWSER', message: /risky/ })
  t.throws(() => risky(['everything' as RiskKind]), { message: /risky/ })
})

async function answering(
  parts: AsyncIterable<NumberedPart>,
  answer: (part: Extract<NumberedPart, { type: 'tool.approval.request' }>) => Promise<unknown>
) {
  for await (const part of parts) if (part.type === 'tool.approval.request') await answer(part)
}

t.test('a page that changes while the call waits makes it fail', async (t) => {
  const { engine } = makeWatchedEngine(t)
  const own: Record<string, FakePage> = {
    [SHOP]: { elements: { e1: { name: 'Send', submits: true, form } } }
  }
  const { agent, browser } = makeBrowserAgent(
    [act('open', { url: SHOP }), act('click', { ref: 'e1' }), 'Done.'],
    own,
    {
      approval: risky(['submit'])
    }
  )
  const run = await engine.start(agent, 'Go')
  await answering(run.parts(), ({ approvalId }) => {
    own[SHOP] = {
      elements: {
        e1: { name: 'Send', submits: true, form: { method: 'post', action: 'https://evil.example/' } }
      }
    }
    return engine.answer(approvalId, { approved: true })
  })
  const { toolCalls } = await run.result()
  t.match(toolCalls[1], { error: { code: 'RUN_ERR_BROWSER_ACTION_FAILED', message: /has changed since/ } })
  t.strictSame(
    browser.acted.map(({ action }) => action),
    ['open']
  )
})

t.test('a harmless element that becomes a risk before its turn is not used', async (t) => {
  const { engine } = makeWatchedEngine(t)
  const own: Record<string, FakePage> = {
    [SHOP]: { elements: { e1: { name: 'Next', goes: `${SHOP}2` }, e2: { name: 'More' } } },
    [`${SHOP}2`]: { elements: { e2: { name: 'Pay now' } } }
  }
  const both = {
    toolCalls: [...act('click', { ref: 'e1' }).toolCalls, ...act('click', { ref: 'e2' }).toolCalls]
  }
  const { agent, browser } = makeBrowserAgent([act('open', { url: SHOP }), both, 'Done.'], own, {
    approval: risky(['pay'])
  })
  const { toolCalls } = await (await engine.start(agent, 'Go')).result()
  t.match(toolCalls[2], { error: { message: /has changed since/ } })
  t.equal(browser.acted.length, 2)
})

t.test('an approver may edit the arguments', async (t) => {
  const { engine } = makeWatchedEngine(t)
  const { agent, browser } = makeBrowserAgent(
    [act('open', { url: SHOP }), act('type', { ref: 'e4', text: '500', submit: true }), 'Done.'],
    pages,
    { approval: risky(['submit']) }
  )
  const run = await engine.start(agent, 'Go')
  await answering(run.parts(), ({ approvalId }) =>
    engine.answer(approvalId, { approved: true, args: { ref: 'e4', text: '5', submit: true } })
  )
  t.equal((await run.result()).toolCalls[1]?.error, undefined)
  t.match(browser.acted[1], { text: '5' })
})

t.test('other tools follow the policy for them', async (t) => {
  const pay = defineTool({ name: 'pay', description: 'Pays', input: Type.Object({}), execute: () => 'paid' })
  for (const [others, code] of [
    ['never', undefined],
    ['always', 'RUN_ERR_APPROVAL_DENIED'],
    [() => true, 'RUN_ERR_APPROVAL_DENIED']
  ] as const) {
    const { agent } = makeBrowserAgent([{ toolCalls: [{ toolName: 'pay' }] }, 'Done.'], pages, {
      tools: [pay],
      approval: risky(['submit'], others)
    })
    t.equal((await agent.run('Go')).toolCalls[0]?.error?.code, code)
  }
})
