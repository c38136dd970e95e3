import { Type } from '@sinclair/typebox'
import { scriptedRunnable } from '@svc/testing'
import { Agent, defineTool } from '@svc/runtime'
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

const weather = defineTool({
  name: 'weather',
  description: 'Tells the weather of a city',
  input: Type.Object({ city: Type.String() }),
  execute: () => 'sunny'
})

t.test('what is served: its schemas, the wires, and a form to try it', options, async (t) => {
  const { page: url, origin } = await consoleApp(t, {
    http: { swagger: true },
    add(registry) {
      new Agent({
        name: 'guide',
        description: 'Knows the way',
        model: scriptedModel(['Left.']),
        registry,
        tools: [weather]
      })
      registry.add({
        kind: 'workflow',
        name: 'sum',
        inputSchema: Type.Object({ a: Type.Integer(), b: Type.Integer() }),
        run: (input) =>
          `It is ${Object.values(input as object).reduce((sum: number, each: number) => sum + each, 0)}.`
      })
    }
  })
  const { page, faults, axe } = await openPage(t, browser, `${url}#/registry`)
  await page.getByRole('link', { name: /guide/ }).waitFor()
  t.equal(await page.locator('code', { hasText: `${origin}/api` }).count(), 1)
  const document = await page.getByRole('link', { name: 'document' }).getAttribute('href')
  t.match(await (await fetch(document!)).json(), { openapi: '3.0.3' })
  t.strictSame(await axe(), [])

  await page.getByRole('link', { name: /guide/ }).click()
  await page.getByText('weather', { exact: true }).click()
  await page.getByRole('group', { name: 'schema of the arguments' }).waitFor()
  await page.getByLabel('Input').fill('Which way?')
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByText('Left.').waitFor()
  t.strictSame(await axe(), [])

  await page.goto(`${url}#/registry/workflow/sum`)
  await page.getByRole('group', { name: 'schema of the input' }).waitFor()
  await page.getByLabel('a', { exact: true }).fill('2')
  await page.getByLabel('b', { exact: true }).fill('3')
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByText('It is 5.').waitFor()
  await page.getByRole('link', { name: 'Open the run' }).click()
  await page.locator('.facts').waitFor()
  t.strictSame(await faults(), [])
})

t.test('health: the process as it goes, for administrators', options, async (t) => {
  const authenticate = async ({ token }: { token?: string }) =>
    token === undefined ? null : { sub: token, scopes: token === 'root' ? ['admin:*'] : ['agents:*'] }
  const failing = () => {
    throw new Error('off')
  }
  const { page: url, origin } = await consoleApp(t, {
    http: { authenticate, rbac: {} },
    add: (registry) => registry.add(scriptedRunnable([failing]))
  })
  const open = async (token: string) => {
    const tab = await openPage(t, browser, `${url}#/health`, { colorScheme: 'dark' })
    await tab.page.getByLabel('Token').fill(token)
    await tab.page.keyboard.press('Enter')
    return tab
  }
  await fetch(`${origin}/api/agents/scripted/run`, {
    method: 'POST',
    body: '{"input":"x"}',
    headers: { 'content-type': 'application/json', authorization: 'Bearer root' }
  })
  const { page, faults, axe } = await open('root')
  await page.getByText('Ready').waitFor()
  await page.getByRole('cell', { name: 'RUN_ERR_FAILED' }).waitFor()
  t.match(await page.locator('.facts').nth(1).innerText(), /Event loop\s+\d+ %[^]*Memory\s+\d+ MB/)
  t.strictSame(await axe(), [])

  const other = await open('ann')
  await other.page.getByText('The figures of the process are shown to administrators.').waitFor()
  t.strictSame([...(await faults()), ...(await other.faults())], [])
})
