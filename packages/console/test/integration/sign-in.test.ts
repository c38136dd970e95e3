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

const ROLES: Record<string, { sub: string; scopes: string[] }> = {
  'token-of-ann': { sub: 'ann', scopes: ['agents:*'] },
  'token-of-bob': { sub: 'bob', scopes: [] }
}
const roleOf = (token: string | undefined) => {
  if (token === undefined) return null
  const found = ROLES[token]
  if (found === undefined) throw new Error('unknown')
  return found
}
const model = scriptedModel(() => 'Hello')
const add = (registry: ConstructorParameters<typeof Agent>[0]['registry']) =>
  new Agent({ name: 'support', model, ...(registry && { registry }) })

t.test('sign-in by token, sign-out, and a token that is refused later', options, async (t) => {
  const { page: url } = await consoleApp(t, {
    add,
    engine: { authenticate: ({ token }) => roleOf(token) },
    http: { rbac: {} }
  })
  const { page, faults, axe } = await openPage(t, browser, url)
  await page.getByLabel('Token').waitFor()
  t.strictSame(await axe(), [])
  await page.getByLabel('Token').fill('wrong')
  await page.keyboard.press('Enter')
  await page.getByText('The service does not accept this token.').waitFor()
  await page.getByLabel('Token').fill('token-of-ann')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'support' }).click()
  await page.getByLabel('Message to support').fill('Hi')
  await page.keyboard.press('Enter')
  await page.getByText('Hello').waitFor()
  await page.reload()
  await page.getByText('Hello').waitFor()
  await page.getByRole('link', { name: 'Runs' }).click()
  await page.locator('.run-row').waitFor()
  t.strictSame(await axe(), [], 'nothing is wrong with the list of runs')

  t.comment('the token expires')
  const role = ROLES['token-of-ann']!
  delete ROLES['token-of-ann']
  await page.getByLabel('Token').waitFor()
  ROLES['token-of-ann'] = role
  await page.getByLabel('Token').fill('token-of-ann')
  await page.keyboard.press('Enter')
  await page.locator('.run-row').waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Token').waitFor()
  await page.reload()
  await page.getByLabel('Token').waitFor()
  t.equal(await page.evaluate(() => sessionStorage.length), 0)
  t.strictSame(await faults(), [])
})

t.test('a viewer without rights sees that, and nothing of others', options, async (t) => {
  const { page: url } = await consoleApp(t, {
    add,
    engine: { authenticate: ({ token }) => roleOf(token) },
    http: { rbac: {} }
  })
  const { page, faults } = await openPage(t, browser, url)
  await page.getByLabel('Token').fill('token-of-bob')
  await page.keyboard.press('Enter')
  await page
    .getByText(/You may not do this/)
    .first()
    .waitFor()
  t.equal(await page.getByText('support').count(), 0)
  await page.getByRole('link', { name: 'Runs' }).click()
  await page.getByText('No runs').waitFor()
  await page.goto(`${url}#/talk/agent/support/desk`)
  await page
    .getByText(/You may not do this/)
    .first()
    .waitFor()
  t.strictSame(await faults(), [])
})

t.test('sign-in by cookie, at a page of the app', options, async (t) => {
  const { page: url } = await consoleApp(t, {
    add,
    engine: { authenticate: ({ token, cookies }) => roleOf(token ?? cookies['session']) },
    http: { rbac: {} },
    options: { signIn: '/login', title: 'Acme desk' },
    before: async (app) =>
      void app.get('/login', (_, reply) =>
        reply
          .header('set-cookie', 'session=token-of-ann; Path=/; HttpOnly; SameSite=Lax')
          .redirect('/console/')
      )
  })
  const { page, faults } = await openPage(t, browser, url)
  await page.getByRole('link', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'support' }).click()
  await page.getByLabel('Message to support').fill('Hi')
  await page.keyboard.press('Enter')
  await page.getByText('Hello').waitFor()
  t.equal(await page.title(), 'Talk · Acme desk')
  t.strictSame(await faults(), [])
})
