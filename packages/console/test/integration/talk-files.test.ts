import { Type } from '@sinclair/typebox'
import { Agent, defineTool, Team } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import type { Browser } from 'playwright-core'
import t from 'tap'
import { launchChromium, needsChromium } from '../helpers/chromium.ts'
import { consoleApp } from '../helpers/console-app.ts'
import { openPage } from '../helpers/open-page.ts'
import { PIXEL } from '../helpers/pixel.ts'

t.setTimeout(120_000)
const options = { ...needsChromium, timeout: 60_000 }

let browser: Browser
t.before(async () => {
  if (needsChromium.skip === false) browser = await launchChromium()
})
t.teardown(() => browser?.close())

// They run in the page.
const PASTE = `{
  const clipboardData = new DataTransfer()
  clipboardData.items.add(new File(['a,b'], 'pasted.csv', { type: 'text/csv' }))
  const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true })
  document.querySelector('textarea').dispatchEvent(event)
}`
const DROP = `{
  const dataTransfer = new DataTransfer()
  dataTransfer.items.add(new File([new Uint8Array(3_000_000)], 'large.bin'))
  const target = document.querySelector('.transcript')
  const init = { dataTransfer, bubbles: true, cancelable: true }
  ;['dragover', 'drop'].map((type) => target.dispatchEvent(new DragEvent(type, init)))
}`

/** What the model was sent of the files of the newest message. */
function filesIn(model: ReturnType<typeof scriptedModel>) {
  const last = model.calls.at(-1)!.prompt.findLast(({ role }) => role === 'user')
  return (last!.content as { type: string; mediaType?: string; filename?: string; data?: unknown }[])
    .filter(({ type }) => type === 'file')
    .map(({ mediaType, filename }) => [mediaType, filename])
}

t.test('files are chosen, pasted and dropped; large ones go as a form', options, async (t) => {
  const model = scriptedModel(['One', 'Two', 'Three', 'Four'])
  const { page: url } = await consoleApp(t, {
    http: { fileUpload: true },
    add: (registry) => new Agent({ name: 'support', model, registry })
  })
  const { page, faults, axe } = await openPage(t, browser, `${url}#/talk/agent/support`)
  const send = () => page.getByRole('button', { name: 'Send' }).click()
  const attached = page.getByRole('list', { name: 'Files' }).getByRole('listitem')

  await page.getByLabel('Attach files').setInputFiles([
    { name: 'dot.png', mimeType: 'image/png', buffer: PIXEL },
    { name: `${'long '.repeat(30)}.csv`, mimeType: 'text/csv', buffer: Buffer.from('a,b') },
    { name: '<b>evil</b>.txt', mimeType: 'text/plain', buffer: Buffer.from('wrong') }
  ])
  await attached.nth(2).waitFor()
  t.strictSame(await axe(), [], 'nothing is wrong with what is attached')
  await page.setViewportSize({ width: 390, height: 800 })
  const box = await attached.nth(1).boundingBox()
  t.ok(box!.x + box!.width <= 390, 'long names fit a phone')
  await attached.nth(1).getByRole('button').click()
  await page.getByRole('button', { name: 'Remove <b>evil</b>.txt' }).click()
  await page.getByLabel('Message to support').fill('What is this?')
  await send()
  await page.getByText('One').waitFor()
  t.strictSame(filesIn(model), [['image/png', 'dot.png']])
  t.equal(await attached.count(), 0)
  await page.locator('.asked-bubble img').waitFor()

  t.comment('pasted, without a text')
  await page.evaluate(PASTE)
  await attached.getByText('pasted.csv').waitFor()
  await send()
  await page.getByText('Two').waitFor()
  t.strictSame(filesIn(model), [['text/csv', 'pasted.csv']])

  t.comment('dropped anywhere, and larger than a body of JSON may be')
  const fate = await page.evaluate(DROP)
  t.strictSame(fate, [false, false], 'the browser does not leave the page for it')
  await attached.getByText('large.bin').waitFor()
  await send()
  await page.getByText('Three').waitFor()
  t.strictSame(filesIn(model), [['application/octet-stream', 'large.bin']])

  t.comment('sent again with its file')
  await page.locator('.turn').first().getByRole('button', { name: 'regenerate' }).click()
  await page.getByText('Four').waitFor()
  t.strictSame(filesIn(model), [['image/png', 'dot.png']])
  t.equal(await page.locator('.turn').count(), 1)
  t.strictSame(await faults(), [])
})

t.test('a message is changed, and sent again: branches, in every tab', options, async (t) => {
  const model = scriptedModel(({ prompt }, index) => `Answer ${index} to ${prompt.length}`)
  const { page: url, app } = await consoleApp(t, {
    add: (registry) => new Agent({ name: 'support', model, registry })
  })
  const { page, faults, axe } = await openPage(t, browser, `${url}#/talk/agent/support`)
  const field = page.getByLabel('Message to support')
  const say = async (text: string, answer: string) => {
    await field.fill(text)
    await page.keyboard.press('Enter')
    await page.getByText(answer).waitFor()
  }
  await say('First', 'Answer 0 to 1')
  await say('Second', 'Answer 1 to 3')
  await say('Third', 'Answer 2 to 5')
  const other = await openPage(t, browser, page.url())
  await other.page.getByText('Answer 2 to 5').waitFor()

  await page.locator('.turn').nth(1).getByRole('button', { name: 'edit' }).click()
  await page.getByText('on a branch of its own').waitFor()
  t.equal(await field.inputValue(), 'Second')
  t.strictSame(await axe(), [], 'nothing is wrong with an edit')
  await say('Second, changed', 'Answer 3 to 3')
  const asked = (tab: typeof page) => tab.locator('.said').allInnerTexts()
  t.strictSame(await asked(page), ['First', 'Second, changed'])
  await other.page.getByText('Answer 3 to 3').waitFor()
  t.strictSame(await asked(other.page), ['First', 'Second, changed'])

  t.comment('in the other tab, whose turns are saved ones')
  await other.page.locator('.turn').first().getByRole('button', { name: 'regenerate' }).click()
  await other.page.getByText('Answer 4 to 1').waitFor()
  await page.getByText('Answer 4 to 1').waitFor()
  t.strictSame(await asked(page), ['First'])
  await page.reload()
  await page.getByText('Answer 4 to 1').waitFor()
  t.strictSame(await asked(page), ['First'])
  await page.getByRole('link', { name: 'branches' }).click()
  await page.getByRole('navigation', { name: 'Branches' }).waitFor()
  const { runs } = await app.runs.list({ limit: 10 })
  t.equal(runs.length, 5)
  t.strictSame([...(await faults()), ...(await other.faults())], [])
})

t.test('members in lanes, citations, and images of tools', options, async (t) => {
  const draw = defineTool({
    name: 'draw',
    description: 'Draws',
    input: Type.Object({}),
    execute: async (_, { keepFile, emit }) => {
      await keepFile({ data: PIXEL, mimeType: 'image/png', filename: 'drawn.png' })
      emit({
        type: 'citation',
        url: 'https://source.example/a',
        title: 'https://other.example',
        quote: 'To be <i>or</i>'
      })
      return 'drawn'
    }
  })
  const look = defineTool({
    name: 'look',
    description: 'Looks',
    input: Type.Object({}),
    execute: () => 'seen'
  })
  const { page: url, app } = await consoleApp(t, {
    add: (registry) =>
      new Team({
        name: 'studio',
        mode: 'parallel',
        registry,
        merge: () => 'Together',
        members: [
          new Agent({
            name: 'painter',
            register: false,
            tools: [draw],
            model: scriptedModel([{ toolCalls: [{ toolName: 'draw' }] }, 'Painted'])
          }),
          new Agent({
            name: 'critic',
            register: false,
            tools: [look],
            // Its call has the id of the painter's.
            model: scriptedModel([{ toolCalls: [{ toolName: 'look' }] }, 'Not *bad*'])
          })
        ]
      })
  })
  const { page, faults, axe } = await openPage(t, browser, `${url}#/talk/team/studio`)
  await page.getByLabel('Message to studio').fill('Paint')
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'critic' }).getByText('Not bad').waitFor()
  await page.getByRole('region', { name: 'critic' }).locator('summary', { hasText: 'look' }).waitFor()
  const painter = page.getByRole('region', { name: 'painter' })
  await painter.locator('summary', { hasText: 'draw' }).waitFor()
  await painter.getByText('Painted').waitFor()
  await painter.locator('img[alt="drawn.png"]').waitFor()
  await painter.getByText('To be <i>or</i>').waitFor()
  t.match(await painter.locator('.citation footer').innerText(), 'source.example')
  const lefts = await page
    .locator('.lane')
    .evaluateAll((all) => all.map((lane) => lane.getBoundingClientRect().left))
  t.equal(new Set(lefts).size, 2, 'the lanes are side by side')
  t.strictSame(await axe(), [])

  t.comment('a reload: the log of the run has what the session does not keep')
  const talk = page.url()
  await page.reload()
  await page.getByRole('region', { name: 'critic' }).getByText('Not bad').waitFor()
  await painter.getByText('To be <i>or</i>').waitFor()
  await page.setViewportSize({ width: 390, height: 800 })
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390)

  t.comment('the timeline of a phone has all of each member below it')
  const { runs } = await app.runs.list({ limit: 1 })
  await page.goto(`${url}#/run/${runs[0]!.runId}`)
  await page.locator('.span').nth(7).waitFor()
  const labels = await page.locator('.span-label bdi').allInnerTexts()
  const first = labels.indexOf('critic') === 0 ? ['critic', 'look'] : ['painter', 'draw']
  t.strictSame([labels[0], labels[2]], first)
  t.equal(labels.length, 8)
  const height = await page.evaluate<number>(`document.querySelector('.timeline > .windowed').clientHeight`)
  t.ok(height > 300, `the list is ${height} pixels high`)
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390)

  t.comment('without the log there is what the session keeps')
  await app.runs.stores.runs.remove(runs[0]!.runId)
  const gone = page.waitForResponse((response) => response.status() === 404)
  await page.goto(talk)
  await gone
  await page.getByText('Together').waitFor()
  t.equal(await page.locator('.lane').count(), 0)
  t.strictSame(await faults(), [])
})
