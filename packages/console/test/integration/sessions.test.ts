import { Agent } from '@svc/runtime'
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

t.test('sessions: found, read as a tree, renamed, forked and deleted', options, async (t) => {
  const model = scriptedModel(({ prompt }) => `Answer ${prompt.length}`)
  const { page: url, app } = await consoleApp(t, {
    add: (registry) => new Agent({ name: 'support', model, registry })
  })
  const say = async (payload: object) =>
    (await app.inject({ method: 'POST', url: '/api/agents/support/run', payload })).json<{ runId: string }>()
  const first = await say({ input: 'The first question', sessionId: 'desk' })
  await say({ input: 'The second question', sessionId: 'desk' })
  await say({ input: 'Another second question', sessionId: 'desk', afterTurn: first.runId })
  await say({ input: 'Elsewhere', sessionId: 'other' })

  const { page, faults, axe } = await openPage(t, browser, `${url}#/sessions`, {
    viewport: { width: 390, height: 780 }
  })
  await page.locator('.session-row', { hasText: 'Elsewhere' }).waitFor()
  t.equal(await page.locator('.session-row').count(), 2)
  t.strictSame(await axe(), [], 'nothing is wrong with the list')
  await page.getByLabel('Search titles, names and ids').fill('desk')
  await page.locator('.session-row', { hasText: 'Elsewhere' }).waitFor({ state: 'detached' })
  await page.locator('.session-row').click()

  t.comment('its turns, on two branches')
  await page.getByText('Another second question').waitFor()
  t.equal(await page.getByText('The second question').count(), 0)
  t.strictSame(await axe(), [], 'nothing is wrong with a session')
  await page.getByRole('link', { name: 'branch 1' }).click()
  await page.getByText('The second question').waitFor()

  t.comment('renamed')
  await page.getByLabel('Title').fill('The front desk')
  await page.getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('heading', { name: 'The front desk' }).waitFor()

  t.comment('forked after its first turn, and continued there')
  await page.getByRole('button', { name: 'Fork here' }).first().click()
  await page.getByText('1 turn ·').waitFor()
  t.notMatch(page.url(), /desk$/)
  await page.getByRole('link', { name: 'Continue' }).click()
  await page.getByText('The first question').waitFor()
  await page.getByLabel('Message to support').fill('In the fork')
  await page.keyboard.press('Enter')
  await page.locator('.markdown', { hasText: 'Answer 3' }).waitFor()

  t.comment('deleted, on the second press')
  await page.goto(`${url}#/sessions/agent/support/desk`)
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete it for good' }).click()
  await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  await page.locator('.session-row', { hasText: 'Elsewhere' }).waitFor()
  t.equal((await app.inject('/api/sessions/agent/support/desk')).statusCode, 404)
  await page.goto(`${url}#/sessions/agent/support/desk`)
  await page.getByRole('alert').waitFor()
  t.strictSame(await faults(), [])
})
