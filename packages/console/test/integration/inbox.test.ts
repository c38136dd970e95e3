import { Type } from '@sinclair/typebox'
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

const mail = defineTool({
  name: 'send_mail',
  description: 'Sends a mail',
  input: Type.Object({ to: Type.String() }),
  approval: true,
  execute: ({ to }) => `sent to ${to.length}`
})
const ask = defineTool({
  name: 'ask',
  description: 'Asks',
  input: Type.Object({}),
  execute: async (_, context) => {
    const { content } = await context.ask({
      message: 'How many?',
      schema: Type.Object({ count: Type.Integer() })
    })
    return content?.count
  }
})

t.test('the inbox: approvals with large arguments, questions, and their number', options, async (t) => {
  // Lists have a preview of these only.
  const to = 'a'.repeat(5_000)
  const model = scriptedModel(({ prompt }) => {
    const text = JSON.stringify(prompt)
    if (text.includes('tool-result')) return 'Done'
    return {
      toolCalls: [text.includes('Mail') ? { toolName: 'send_mail', args: { to } } : { toolName: 'ask' }]
    }
  })
  const { page: url, app } = await consoleApp(t, {
    add: (registry) => new Agent({ name: 'support', model, registry, tools: [mail, ask] })
  })
  const start = async (input: string) => {
    const headers = { prefer: 'respond-async' }
    const reply = await app.inject({
      method: 'POST',
      url: '/api/agents/support/run',
      headers,
      payload: { input }
    })
    return reply.json<{ runId: string }>().runId
  }
  const { page, faults, axe } = await openPage(t, browser, `${url}#/inbox`)
  await page.getByText('Nothing waits for you').waitFor()
  const mailed = await start('Mail')
  const asked = await start('Ask')
  await page.locator('.side .count', { hasText: '2' }).waitFor()
  t.match(await page.title(), /^\(2\) Inbox/)
  const approve = page.getByRole('button', { name: 'Approve' })
  await page.locator('.answer-card .json').waitFor()
  t.strictSame(await axe(), [])

  await page.getByLabel('count').fill('3')
  await page.getByRole('button', { name: 'Answer' }).click()
  await page.getByText('How many?').waitFor({ state: 'detached' })
  await page.getByLabel('Reason, if you deny').fill('Not today')
  await page.getByRole('button', { name: 'Deny' }).click()
  await page.getByText('Nothing waits for you').waitFor()
  t.equal(await approve.count(), 0)
  t.match(await page.title(), /^Inbox/)
  const outcomes = await Promise.all(
    [mailed, asked].map(async (runId) => {
      await app.inject(`/api/runs/${runId}/stream`)
      return (await app.inject(`/api/runs/${runId}`)).json<object>()
    })
  )
  t.match(outcomes, [
    { result: { toolCalls: [{ error: { message: /Not today/ } }] } },
    { result: { toolCalls: [{ result: 3 }] } }
  ])
  t.strictSame(await faults(), [])
})
