import t from 'tap'
import { createEventBus, createInProcessStores } from '@svc/registry'
import { Secrets } from '../../src/guard/secrets.ts'
import type { FakePage } from '../helpers/fake-browser.ts'
import { collect, makeContext } from '../helpers/collect.ts'
import { act, makeBrowserAgent } from '../helpers/make-browser-agent.ts'

const VALUE = 'Hünter 2&/"x"'
const secrets = new Secrets({
  PASSWORD: { value: VALUE, hosts: ['shop.example', '*.pay.example', 'local.example:8443'] }
})
const target = { tag: 'input', role: 'textbox', name: '' }

t.test('a secret is filled in on its own hosts only, and only if the form goes there', async (t) => {
  const fill = (frameUrl: string, action?: string) =>
    secrets.fill('{{PASSWORD}}!', {
      ...target,
      frameUrl,
      ...(action !== undefined && { form: { method: 'post', action } })
    })
  for (const url of [
    'https://shop.example/a',
    'http://SHOP.example',
    'https://a.b.pay.example/',
    'https://local.example:8443/'
  ])
    t.equal(fill(url), `${VALUE}!`, url)
  for (const url of [
    'https://evil.example/',
    'https://shop.example.evil.example/',
    'https://xshop.example/',
    'https://pay.example/',
    'https://shop.example:8443/',
    'https://local.example/',
    'about:blank',
    'data:text/html,x',
    'https://shop.example@evil.example/',
    'file:///shop.example',
    'ftp://shop.example/',
    ''
  ])
    t.throws(() => fill(url), { code: 'RUN_ERR_BROWSER_HOST_REFUSED' }, url)
  t.equal(fill('https://shop.example/', 'https://shop.example/login'), `${VALUE}!`)
  t.throws(() => fill('https://shop.example/', 'https://evil.example/login'), { message: /evil\.example/ })
  t.equal(secrets.fill('{{OTHER}} {{}}', { ...target, frameUrl: 'https://evil.example' }), '{{OTHER}} {{}}')
})

t.test('a value is found in whatever encoding it comes back', async (t) => {
  const encoded = [
    VALUE,
    encodeURIComponent(VALUE),
    encodeURI(VALUE),
    JSON.stringify(VALUE),
    Buffer.from(VALUE).toString('hex'),
    `https://a/?q=${encodeURIComponent(VALUE).replaceAll(/%../g, (escape) => escape.toLowerCase())}`,
    new URLSearchParams({ q: VALUE }).toString(),
    [...Buffer.from(VALUE)].map((byte) => `%${byte.toString(16)}`).join(''),
    ...['', 'x', 'xy'].flatMap((before) =>
      (['base64', 'base64url'] as const).map((form) => Buffer.from(`${before}${VALUE} after`).toString(form))
    )
  ]
  for (const text of encoded) {
    t.match(secrets.redact(`before ${text} after`), /^before .*\[secret\].* after$/, text)
    t.ok(secrets.isIn(text))
  }
  t.equal(secrets.redact('100%25 of %41 hunters'), '100%25 of %41 hunters')
  t.ok(secrets.isIn(Buffer.from(`a,b\n1,${Buffer.from(VALUE).toString('base64')}`)))
  t.notOk(secrets.isIn(Buffer.from('a,b')))
  for (const encoding of ['utf8', 'utf16le', 'latin1'] as const)
    t.ok(secrets.isIn(Buffer.from(VALUE, encoding)), encoding)
  t.equal(secrets.redactName('Report for Hünter 2___x_.csv'), 'Report for [secret].csv')
})

t.test('a value is found in upper or lower case, partly escaped, and cut', async (t) => {
  const hex = Buffer.from(VALUE).toString('hex').toUpperCase()
  for (const text of [VALUE.toUpperCase(), VALUE.toLowerCase(), hex, VALUE.replace('&', '%26')])
    t.equal(secrets.redact(`before ${text} after`), 'before [secret] after', text)
  t.equal(secrets.redact(`"${VALUE.slice(0, 8)}… 30 more characters" …`), '"[secret]… 30 more characters" …')
  t.equal(secrets.redact('Hünt … Hün… …'), 'Hünt … Hün… …')
  const forged = `https://a/?q=${encodeURIComponent(VALUE)}%0A- button`.replace('H', '%48')
  t.notMatch(secrets.redact(forged), '\n', 'no line is forged')
})

t.test('a word of any length is redacted, escaped or not', async (t) => {
  // In quadratic time this would take minutes.
  const long = 'x'.repeat(1_000_000)
  for (const text of [`% ${long}`, `${long}%41`, '%41'.repeat(300_000), '…'.repeat(300_000), `${long}…`])
    t.equal(secrets.redact(text), text)
  t.notOk(secrets.isIn(Buffer.from(`% ${long}`)))
})

t.test(
  'screenshots cover any field that has a secret, and there are none of a secret elsewhere',
  async (t) => {
    const shown = async (text: string) => {
      const { agent, browser } = makeBrowserAgent(
        [act('open', { url: SHOP }), act('screenshot'), 'Done.'],
        { [SHOP]: { text } },
        options
      )
      await agent.run('Go')
      return browser.hidden.at(-1)
    }
    t.strictSame(await shown(`- textbox "User" [active] [placeholder="a [ref=e9] b"] [ref=e7]: ${CANARY}`), [
      'e7'
    ])
    t.strictSame(await shown(`- textbox [ref=f1e2]: "[${CANARY}]"`), ['f1e2'])
    for (const line of [
      `- paragraph [ref=e7]: ${CANARY}`,
      `- textbox "${CANARY}" [ref=e7]: ${CANARY}`,
      `- paragraph: "- textbox [ref=e7]: ${CANARY}"`
    ])
      t.equal(await shown(line), undefined, line)
  }
)

t.test('a host that is refused does not give a secret away', async (t) => {
  const events: unknown[] = []
  const bus = createEventBus()
  bus.on('browser.blocked', (event) => void events.push(event))
  const { agent, browser } = makeBrowserAgent(
    [act('open', { url: SHOP }), act('click', { ref: 'e2' }), 'Done.'],
    leakyPages(),
    options
  )
  const open = browser.open.bind(browser)
  browser.open = async (given) => {
    for (let i = 0; i < 200; i++) given.onBlocked?.({ host: `${CANARY}.x${i}.example`, reason: 'host' })
    return open(given)
  }
  const { parts } = await collect(agent.stream('Go', makeContext({ events: bus }).context))
  t.match(JSON.stringify(parts), 'Blocked: [secret].x0.example (host)')
  t.notMatch(JSON.stringify([parts, events]), CANARY)
  t.equal(events.length, 200)
})

t.test('arguments show which secret is used, not its value', async (t) => {
  t.strictSame(secrets.hide({ text: 'a {{PASSWORD}} {{OTHER}}', list: [VALUE, 1, null] }), {
    text: 'a [secret] {{OTHER}}',
    list: ['[secret]', 1, null]
  })
})

const SHOP = 'https://shop.example/login'
const CANARY = 'correct-horse-4711'

/** A page that gives away everything that was typed into it. */
function leakyPages(): Record<string, FakePage> {
  const encoded = [CANARY, encodeURIComponent(CANARY), Buffer.from(`x${CANARY}`).toString('base64')]
  return {
    [SHOP]: {
      title: 'Login',
      elements: {
        e1: { role: 'textbox', name: 'Password', tag: 'input' },
        e2: { goes: `https://shop.example/done?password=${CANARY}` }
      }
    },
    [`https://shop.example/done?password=${CANARY}`]: {
      title: `Welcome ${CANARY}`,
      text: encoded.join(' '),
      dialog: { type: 'alert', message: `Your password is ${CANARY}` },
      elements: {
        e3: { name: CANARY, offers: { filename: `${CANARY}.csv`, content: 'a,b' } },
        e4: { offers: { filename: 'all.csv', content: `a,${CANARY}` } }
      }
    },
    'https://other.example/': { elements: { e1: { role: 'textbox', tag: 'input' } } }
  }
}

const options = {
  secrets: { PASSWORD: { value: CANARY, hosts: ['shop.example'] } },
  files: { downloads: { types: ['text/csv'] } },
  screenshots: 'steps' as const
}

t.test('the value stands in nothing that a run leaves', async (t) => {
  const logged: unknown[] = []
  const log = (...line: unknown[]) => void logged.push(line)
  const events: unknown[] = []
  const bus = createEventBus()
  for (const name of [
    'browser.action',
    'browser.step',
    'browser.error',
    'tool.call',
    'tool.result',
    'tool.error',
    'run.complete'
  ] as const)
    bus.on(name, (event) => void events.push(event))
  const stores = createInProcessStores()
  const { agent, browser, model } = makeBrowserAgent(
    [
      act('open', { url: SHOP }),
      act('type', { ref: 'e1', text: '{{PASSWORD}}' }),
      act('click', { ref: 'e2' }),
      act('click', { ref: 'e3' }),
      act('click', { ref: 'e4' }),
      act('read'),
      act('find', { text: 'horse' }),
      act('screenshot'),
      act('click', { ref: 'e9' }),
      'Done.'
    ],
    leakyPages(),
    options
  )
  const { context } = makeContext({
    stores,
    events: bus,
    log: { debug: log, info: log, warn: log, error: log }
  })
  const { parts, error } = await collect(agent.stream('Log in', context))
  t.equal(error, undefined)
  t.match(browser.acted[1], { text: CANARY }, 'it was typed')
  const session = await stores.sessions.load(
    {
      registry: context.registry,
      owner: context.sessionOwner,
      kind: 'agent',
      name: agent.name,
      sessionId: context.sessionId
    },
    100
  )
  const prompts = model.calls.map(({ prompt }) => prompt)
  for (const [name, left] of Object.entries({ parts, events, logged, session, prompts })) {
    if (name !== 'logged') t.not(JSON.stringify(left).length, 2, name)
    t.notMatch(JSON.stringify(left), CANARY, name)
    t.notMatch(JSON.stringify(left), Buffer.from(`x${CANARY}`).toString('base64').slice(4, 20), name)
  }
  const files = parts.filter((part) => part.type === 'file')
  t.match(
    files.at(-1),
    { filename: '[secret].csv', purpose: 'download' },
    'the one with a secret inside is refused'
  )
  t.match(
    browser.hidden.find((refs) => refs.length > 0),
    ['e1'],
    'the field is covered'
  )
})

t.test('an error that quotes a secret is redacted before the model and the log see it', async (t) => {
  const { agent, browser } = makeBrowserAgent(
    [act('open', { url: SHOP }), act('type', { ref: 'e1', text: '{{PASSWORD}}' }), 'Done.'],
    leakyPages(),
    options
  )
  const open = browser.open.bind(browser)
  browser.open = async (given) => {
    const desk = await open(given)
    const performed = desk.act.bind(desk)
    desk.act = async (action, signal) => {
      if (action.action === 'type') throw new Error(`fill("${action.text}") failed`)
      return performed(action, signal)
    }
    return desk
  }
  const { context, logged } = makeContext()
  const { parts } = await collect(agent.stream('Go', context))
  t.match(JSON.stringify(logged), 'fill(')
  t.notMatch(JSON.stringify([parts, logged]), CANARY)
})

t.test('a secret is typed nowhere else, whatever the model writes', async (t) => {
  const { agent, browser } = makeBrowserAgent(
    [
      act('open', { url: 'https://other.example/' }),
      act('type', { ref: 'e1', text: '{{PASSWORD}}' }),
      act('type', { text: '{{PASSWORD}}' }),
      act('open', { url: 'https://other.example/?q={{PASSWORD}}' }),
      'Done.'
    ],
    leakyPages(),
    options
  )
  const { toolCalls } = await agent.run('Go')
  t.match(
    toolCalls.slice(1),
    [1, 2, 3].map(() => ({ error: { code: 'RUN_ERR_BROWSER_HOST_REFUSED' } }))
  )
  t.notMatch(JSON.stringify(browser.acted), CANARY)
  t.strictSame(
    browser.acted.map(({ action }) => action),
    ['open']
  )
})
