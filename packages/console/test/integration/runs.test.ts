import { Type } from '@sinclair/typebox'
import { Agent, defineTool, Team } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import type { Browser } from 'playwright-core'
import t from 'tap'
import { launchChromium, needsChromium } from '../helpers/chromium.ts'
import { consoleApp } from '../helpers/console-app.ts'
import { openPage } from '../helpers/open-page.ts'

t.setTimeout(120_000)
const options = { ...needsChromium, timeout: 60_000 }

let browser: Browser
t.before(async () => {
  if (needsChromium.skip === false) browser = await launchChromium()
})
t.teardown(() => browser?.close())

const mail = defineTool({
  name: 'send_mail',
  description: 'Sends a mail',
  input: Type.Object({ to: Type.String() }),
  approval: true,
  execute: () => 'sent'
})

t.test('runs: the live list with its filters, and one run as it goes', options, async (t) => {
  const model = scriptedModel([{ toolCalls: [{ toolName: 'send_mail', args: { to: 'ann' } }] }, 'It is sent'])
  const {
    page: url,
    app,
    origin
  } = await consoleApp(t, {
    add: (registry) => {
      new Agent({ name: 'support', model, registry, tools: [mail] })
      const members = ['writer', 'critic'].map(
        (name) => new Agent({ name, model: scriptedModel([`I am the ${name}`]), registry })
      )
      new Team({ name: 'desk', mode: 'sequence', members, registry })
    }
  })
  const start = async (path: string, body: object) => {
    const { headers } = await app.inject({
      method: 'POST',
      url: `/api/${path}/run`,
      headers: { prefer: 'respond-async' },
      payload: body
    })
    return String(headers['x-run-id'])
  }
  const { page, faults, axe } = await openPage(t, browser, `${url}#/runs`, { colorScheme: 'dark' })
  await page.getByText('No runs').waitFor()

  const input = "Ann's mail"
  const runId = await start('agents/support', { input, metadata: { customer: 'c-17' } })
  await page.locator('.run-row', { hasText: 'customer=c-17' }).waitFor()
  await page.locator('.run-row [data-status="input-required"]').waitFor()
  const team = await start('teams/desk', { input: 'Write' })
  const done = page.locator('.run-row', { hasText: 'desk' })
  await done.locator('[data-status="completed"]').waitFor()
  t.match(await done.innerText(), /\d+ tokens\s+first after \d+ ms/)
  await page.getByLabel('State').selectOption('completed')
  await page.locator('.run-row', { hasText: 'support' }).waitFor({ state: 'detached' })
  await page.getByLabel('State').selectOption('')
  await page.getByLabel('Metadata, as key=value').fill('customer=c-17')
  await page.keyboard.press('Enter')
  await page.locator('.run-row', { hasText: 'desk' }).waitFor({ state: 'detached' })

  t.comment('one run')
  await page.locator('.run-row', { hasText: 'support' }).click()
  await page.locator('.span', { hasText: 'Approval of send_mail' }).waitFor()
  t.strictSame(await axe(), [], 'nothing is wrong with a timeline')
  await page.getByRole('link', { name: 'Content', exact: true }).click()
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('It is sent').waitFor()
  await page.locator('.view-head [data-status="completed"]').waitFor()
  t.equal(await page.getByRole('button', { name: 'Cancel' }).count(), 0)
  await page.getByRole('link', { name: 'Timeline' }).click()
  await page.locator('.span', { hasText: /^tool send_mail/ }).click()
  await page.getByRole('heading', { name: /^Part \d+$/ }).waitFor()
  await page.locator('.part-detail').getByText('tool.call').waitFor()
  let count = 0
  for await (const _ of app.runs.parts(runId)) count++
  t.equal(await page.locator('.windowed li').count(), count, 'every part is there')
  t.strictSame(await axe(), [], 'nothing is wrong with parts')
  await page.getByRole('link', { name: 'As curl' }).click()
  const command = await page.locator('.commands pre').first().innerText()
  t.match(command, `${origin}/api/agents/support/stream`)
  t.match(command, String.raw`'{"input":"Ann'\''s mail","metadata":{"customer":"c-17"}}'`)

  t.comment('a team, with its members')
  await page.goto(`${url}#/run/${team}`)
  await page.locator('.span[data-kind="member"]', { hasText: 'critic' }).waitFor()
  t.equal(await page.locator('.span[data-kind="step"]').count(), 2)
  await page.goto(`${url}#/run/unknown`)
  await page.getByRole('alert').waitFor()
  t.match(await page.getByRole('alert').innerText(), /RUN_ERR_NOT_FOUND/)
  t.strictSame(await faults(), [])
})
