import a2a from '@svc/a2a'
import agUi from '@svc/ag-ui'
import openAi from '@svc/openai'
import type { FastifyInstance } from 'fastify'
import type { Browser } from 'playwright-core'
import t from 'tap'
import { launchChromium, needsChromium } from '../helpers/chromium.ts'
import { consoleApp } from '../helpers/console-app.ts'
import { addEcho, addHostile } from '../helpers/hostile-runnables.ts'
import { HOSTILE } from '../helpers/hostile-texts.ts'
import { openPage } from '../helpers/open-page.ts'
import { wrongWith } from '../helpers/wrong-with.ts'

t.setTimeout(300_000)
const options = { ...needsChromium, timeout: 280_000 }
const PHONE = { viewport: { width: 390, height: 800 } }

let browser: Browser
t.before(async () => {
  if (needsChromium.skip === false) browser = await launchChromium()
})
t.teardown(() => browser?.close())

async function start(app: FastifyInstance, name: string, body: object): Promise<string> {
  const headers = { prefer: 'respond-async' }
  const reply = await app.inject({ method: 'POST', url: `/api/agents/${name}/run`, headers, payload: body })
  if (reply.statusCode !== 202) throw new Error(reply.body)
  return String(reply.headers['x-run-id'])
}

/** Starts a run for each text, as far as the service accepts it as an input, too. */
const startAll = (app: FastifyInstance, name: string) =>
  Promise.all(
    Object.entries(HOSTILE).map(async ([title, text]) => {
      // The service refuses halves of surrogate pairs.
      const input = text.slice(0, 100_000).toWellFormed()
      const metadata = { case: title, text: input.slice(0, 512).toWellFormed() }
      return [title, await start(app, name, { input, metadata, sessionId: title })] as const
    })
  )

const isOver = async (app: FastifyInstance, runId: string) => {
  for await (const part of app.runs.parts(runId)) if (part.type === 'error') return
}

t.test('hostile texts in every field of a run', options, async (t) => {
  const { page: url, app } = await consoleApp(t, {
    add: addHostile,
    options: { surfaces: { http: '/api', responses: '/v1', agui: '/api', a2a: '/a2a' } },
    async after(app) {
      await app.register(openAi, { prefix: '/v1' })
      await app.register(agUi, { prefix: '/api' })
      await app.register(a2a, { basePath: '/a2a' })
    }
  })
  const runs = await startAll(app, 'hostile')
  t.ok(runs.length >= 40)
  for (const [, runId] of runs) await isOver(app, runId)
  const { page, faults } = await openPage(t, browser, `${url}#/runs`, PHONE)
  await page.locator('.run-row').first().waitFor()
  t.strictSame(await wrongWith(page), [], 'the list of runs')
  for (const [title, runId] of runs) {
    for (const [view, shown] of [
      [`run/${runId}?tab=content`, '.run-content .item'],
      [`run/${runId}?tab=parts&seq=6`, '.part-detail'],
      [`run/${runId}`, '.span'],
      [`run/${runId}?tab=wires`, '.run-wires:not(:has([aria-busy="true"])) section:nth-of-type(4) li'],
      [`run/${runId}?tab=curl`, '.commands pre'],
      [`browser/${runId}`, '.shot-action']
    ] as const) {
      await page.goto(`${url}#/${view}`)
      await page.locator(shown).first().waitFor()
      t.strictSame(await wrongWith(page), [], `${title}: ${view.replace(runId, '…')}`)
    }
  }
  t.strictSame(await faults(), [])
})

t.test('hostile texts in conversations', options, async (t) => {
  const { page: url, app } = await consoleApp(t, { add: addEcho })
  const { page, faults } = await openPage(t, browser, url, PHONE)
  for (const [title, text] of Object.entries(HOSTILE)) {
    const input = text.slice(0, 100_000).toWellFormed()
    const payload = { input, sessionId: title }
    const { statusCode } = await app.inject({ method: 'POST', url: '/api/agents/echo/run', payload })
    t.equal(statusCode, 200)
    const session = `agent/echo/${encodeURIComponent(title)}`
    const change = { method: 'PATCH' as const, payload: { title: input.slice(0, 100) } }
    await app.inject({ url: `/api/sessions/${session}`, ...change })
    await page.goto(`${url}#/talk/${session}`)
    await page.locator('.answer').first().waitFor()
    t.strictSame(await wrongWith(page), [], title)
    await page.goto(`${url}#/sessions/${session}`)
    await page.locator('h1').waitFor()
    t.strictSame(await wrongWith(page), [], `${title}: its session`)
  }
  await page.goto(`${url}#/sessions`)
  await page.locator('.session-row').first().waitFor()
  t.strictSame(await wrongWith(page), [], 'the list of sessions')
  t.strictSame(await faults(), [])
})

t.test('hostile texts in what waits', options, async (t) => {
  const { page: url, app } = await consoleApp(t, { add: addHostile })
  const runs = await startAll(app, 'asking')
  const { page, faults } = await openPage(t, browser, `${url}#/inbox`, PHONE)
  await page.locator('.answer-card').nth(10).waitFor()
  t.strictSame(await wrongWith(page), [])
  for (const [title, runId] of runs) {
    await page.goto(`${url}#/run/${runId}?tab=content`)
    await page.locator('.answer-card').nth(1).waitFor()
    t.strictSame(await wrongWith(page), [], title)
  }
  t.strictSame(await faults(), [])
})
