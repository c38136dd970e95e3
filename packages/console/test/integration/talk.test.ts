import { join } from 'node:path'
import { Type } from '@sinclair/typebox'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import type { Browser } from 'playwright-core'
import t from 'tap'
import { launchChromium, needsChromium } from '../helpers/chromium.ts'
import { consoleApp } from '../helpers/console-app.ts'
import { openPage } from '../helpers/open-page.ts'

t.setTimeout(120_000)
const options = { ...needsChromium, timeout: 60_000 }

const mail = defineTool({
  name: 'send_mail',
  description: 'Sends a mail',
  input: Type.Object({ to: Type.String() }),
  approval: true,
  execute: ({ to }) => `sent to ${to}`
})
const ask = defineTool({
  name: 'ask',
  description: 'Asks',
  input: Type.Object({}),
  execute: async (_, context) => {
    const size = Type.Union([Type.Literal('S'), Type.Literal('L')])
    const { content } = await context.ask({ message: 'Which size?', schema: Type.Object({ size }) })
    return `size ${content?.size}`
  }
})

let browser: Browser
t.before(async () => {
  if (needsChromium.skip === false) browser = await launchChromium()
})
t.teardown(() => browser?.close())

t.test('where a prompt was compacted, and its summary', options, async (t) => {
  // How its provider counts is learned by its name, from all tests of the process.
  const model = scriptedModel(['Known: **Ann**.', 'Noted.'], { modelId: 'compacted' })
  const history = { window: 1_024, compact: { keep: 2, maxSummary: 256 } }
  const { page: url, app } = await consoleApp(t, {
    add: (registry) => new Agent({ name: 'support', model, registry, history })
  })
  const messages = [
    { role: 'user', content: 'words '.repeat(400) },
    { role: 'assistant', text: 'Yes.' }
  ] as const
  const run = await app.runs.start(app.registry.get('agent', 'support')!, 'And now?', { messages })
  await run.result()
  const { page, faults } = await openPage(t, browser, `${url}#/run/${run.runId}?tab=content`)
  const line = page.getByText(/^1 message summarised, [\d,]+ → [\d,]+ tokens$/)
  await line.first().click()
  await page.locator('.markdown strong', { hasText: 'Ann' }).waitFor()
  t.strictSame(await faults(), [])
})

t.test(
  'a talk: Markdown as it comes, an approval with edited arguments, a question, the history',
  options,
  async (t) => {
    const model = scriptedModel([
      { reasoning: 'Let me greet.', text: ['Hello ', '**Ann**\n\n- one\n- two'] },
      { toolCalls: [{ toolName: 'send_mail', args: { to: 'ann' } }] },
      { toolCalls: [{ toolName: 'ask' }] },
      'All done'
    ])
    const { page: url } = await consoleApp(t, {
      add: (registry) =>
        new Agent({ name: 'support', description: 'Helps', model, registry, tools: [mail, ask] })
    })
    const { page, faults, axe } = await openPage(t, browser, url)
    const say = async (text: string) => {
      await page.getByLabel('Message to support').fill(text)
      await page.keyboard.press('Enter')
    }

    await page.getByRole('link', { name: 'support' }).waitFor()
    t.strictSame(await axe(), [], 'nothing is wrong with the choice')
    await page.getByRole('link', { name: 'support' }).click()
    await say('Hi <b>there</b>')
    await page.getByRole('listitem').getByText('two').waitFor()
    t.equal(await page.locator('.markdown strong').innerText(), 'Ann')
    t.equal(await page.locator('.said').innerText(), 'Hi <b>there</b>')
    await page.getByText('Reasoning').click()
    await page.getByText('Let me greet.').waitFor()

    await say('Mail her')
    await page.getByRole('button', { name: 'Edit arguments' }).click()
    await page.getByLabel('Arguments').fill('{ "to": "bob" }')
    t.strictSame(await axe(), [], 'nothing is wrong with an approval')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('Which size?').waitFor()
    await page.getByLabel('size').selectOption('L')
    t.strictSame(await axe(), [], 'nothing is wrong with a question')
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByText('All done').waitFor()
    await page.getByText('send_mail').click()
    await page.getByText('sent to bob').waitFor()

    t.comment('a reload: the session has it all')
    await page.reload()
    await page.getByText('All done').waitFor()
    t.equal(await page.locator('.asked-bubble').count(), 2)
    // What the session shows first gives way to the log of its run, with its details closed.
    while (!(await page.getByText('size L').isVisible()))
      await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")

    t.comment('another tab of the session sees what is said here')
    const other = await openPage(t, browser, page.url())
    await other.page.getByText('All done').waitFor()
    await other.page.getByLabel('Message to support').fill('Once more')
    await other.page.keyboard.press('Enter')
    await page.locator('.asked-bubble', { hasText: 'Once more' }).waitFor()

    t.strictSame([...(await faults()), ...(await other.faults())], [])
  }
)

t.test('stop ends the run', options, async (t) => {
  const model = scriptedModel([{ text: ['Working on it'], hangs: 'stream' }])
  const { page: url, app } = await consoleApp(t, {
    add: (registry) => new Agent({ name: 'slow', model, registry })
  })
  const { page } = await openPage(t, browser, `${url}#/talk/agent/slow`)
  await page.getByLabel('Message to slow').fill('Go')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('Working on it').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.locator('.status[data-status="canceled"]').waitFor()
  t.equal(await page.getByRole('button', { name: 'Stop' }).count(), 0)
  t.match(await app.runs.list({ status: 'canceled', limit: 1 }), { runs: [{ name: 'slow' }] })
})

t.test('a restart of the service in the middle of an answer', options, async (t) => {
  const db = `sqlite:${join(t.testdir(), 'app.db')}`
  const serve = (port: number, hangs: boolean) =>
    consoleApp(t, {
      port,
      before: async (app) => app.register(store, { url: db }),
      add: (registry) =>
        new Agent({
          name: 'support',
          registry,
          model: scriptedModel([
            { text: ['one ', 'two ', ...(hangs ? [] : ['three'])], ...(hangs && { hangs: 'stream' }) }
          ])
        })
    })
  const first = await serve(0, true)
  const { page, faults } = await openPage(t, browser, `${first.page}#/talk/agent/support`)
  const positions: string[] = []
  page.on('response', (response) => {
    const position = response.request().headers()['last-event-id']
    if (position !== undefined && response.ok() && !positions.includes(position)) positions.push(position)
  })
  const opened = page.waitForResponse((response) => response.url().includes('/sessions/') && response.ok())
  await page.getByLabel('Message to support').fill('Count')
  await page.keyboard.press('Enter')
  await opened
  await page.getByText('one two').waitFor()
  await first.app.close()
  await page.getByText(/It continues in/).waitFor()
  await serve(Number(new URL(first.origin).port), false)
  await page.getByText('one two three').waitFor()
  await page.getByText(/It continues in/).waitFor({ state: 'detached' })
  t.equal(await page.locator('.answer').innerText(), 'one two three', 'what was void is gone')
  t.match(positions, ['0.0', /^1\.[2-9]$/], 'the stream continues where it was cut off')
  t.strictSame(await faults(), [])
})

t.test('hostile text runs nothing and leads nowhere', options, async (t) => {
  const hostile = [
    '<img src=x onerror="document.title=1"><script>document.title=2</script>',
    '[js](javascript:alert(1)) [data](data:text/html,x) ![i](https://evil.example/x.png) [ok](https://ok.example/)',
    '[file](file:///etc/passwd) [rel](/api/agents) <https://auto.example> \u001b[31mred\u202Egnp.exe'
  ].join('\n\n')
  const model = scriptedModel([hostile])
  const { page: url } = await consoleApp(t, {
    add: (registry) => new Agent({ name: 'evil', model, registry })
  })
  const { page, faults } = await openPage(t, browser, `${url}#/talk/agent/evil`)
  await page.getByLabel('Message to evil').fill('Go')
  await page.keyboard.press('Enter')
  await page.getByText('red').waitFor()
  const links = await page
    .locator('.markdown a')
    .evaluateAll((found) =>
      found.map((each) => [each.getAttribute('href'), each.getAttribute('rel'), each.getAttribute('target')])
    )
  const rel = 'noopener noreferrer nofollow ugc'
  t.strictSame(links, [
    ['https://evil.example/x.png', rel, '_blank'],
    ['https://ok.example/', rel, '_blank'],
    ['https://auto.example/', rel, '_blank']
  ])
  t.equal(await page.locator('.markdown img, .markdown script').count(), 0)
  t.match(await page.locator('.markdown').innerText(), /␛\[31mred⟨202E⟩gnp\.exe/)
  t.match(await page.title(), /^Talk/)
  t.strictSame(await faults(), [])
})
