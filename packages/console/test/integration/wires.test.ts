import a2a from '@svc/a2a'
import agUi from '@svc/ag-ui'
import anthropic from '@svc/anthropic'
import openAi from '@svc/openai'
import openAiAgents from '@svc/openai/agents'
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

t.test('a run as each wire tells it', options, async (t) => {
  const { page: url, app } = await consoleApp(t, {
    options: {
      surfaces: {
        http: '/api',
        responses: '/v1',
        agents: '/v1',
        managed: '/managed',
        agui: '/api',
        a2a: '/a2a'
      }
    },
    add: (registry) =>
      new Agent({
        name: 'guide',
        model: scriptedModel([{ text: ['Left', ' <b>now</b>'] }, 'Right']),
        registry
      }),
    async after(app) {
      await app.register(openAi, { prefix: '/v1' })
      await app.register(openAiAgents, { prefix: '/v1' })
      await app.register(anthropic, { prefix: '/managed' })
      await app.register(agUi, { prefix: '/api' })
      await app.register(a2a, { basePath: '/a2a' })
    }
  })
  const runs: string[] = []
  for (const input of ['One', 'Two']) {
    const payload = { input, sessionId: 's' }
    const { headers } = await app.inject({ method: 'POST', url: '/api/agents/guide/run', payload })
    runs.push(String(headers['x-run-id']))
  }
  const { page, faults, axe } = await openPage(t, browser, `${url}#/run/${runs[0]}?tab=wires`)
  const column = (name: string) => page.locator('.run-wires section', { hasText: name })
  await column('Log').getByText('text Left').waitFor()
  await column('Responses').getByText('response.output_text.delta Left').waitFor()
  await column('Responses').getByText('response.completed').waitFor()
  await column('AG-UI').getByText('TEXT_MESSAGE_CONTENT Left').waitFor()
  t.equal(
    await column('AG-UI').getByText('RUN_STARTED').count(),
    1,
    'the other run of the session is not told'
  )
  await column('Agents API').getByText('message').nth(1).waitFor()
  t.equal(await column('Agents API').getByText('message').count(), 2, 'the input and the answer')
  await column('Managed Agents').getByText('agent.message').waitFor()
  t.equal(await column('Managed Agents').getByText('user.message').count(), 1, 'of the other run nothing')
  await column('A2A').getByText('task').click()
  await column('A2A').getByText('TASK_STATE_COMPLETED').waitFor()
  t.strictSame(await axe(), [])
  t.strictSame(await faults(), [])
})

t.test('a wire of which the service does not say where it is', options, async (t) => {
  const { page: url, app } = await consoleApp(t, {
    add: (registry) => new Agent({ name: 'guide', model: scriptedModel(['Left']), registry })
  })
  const payload = { input: 'One' }
  const { headers } = await app.inject({ method: 'POST', url: '/api/agents/guide/run', payload })
  const { page } = await openPage(t, browser, `${url}#/run/${String(headers['x-run-id'])}?tab=wires`)
  await page.getByText('The service does not say where this wire is.').nth(4).waitFor()
  t.equal(await page.locator('.run-wires [role="alert"]').count(), 0)
})
