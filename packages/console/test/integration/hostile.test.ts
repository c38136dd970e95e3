import a2a from '@svc/a2a'
import agUi from '@svc/ag-ui'
import openAi from '@svc/openai'
import type { FastifyInstance } from 'fastify'
import type { Browser } from 'playwright-core'
import t from 'tap'
import { launchChromium, needsChromium } from '../helpers/chromium.ts'
import { consoleApp } from '../helpers/console-app.ts'
import { addEcho, addHostile } from '../helpers/hostile-runnables.ts'
import { HOSTILE_GROUPS } from '../helpers/hostile-texts.ts'
import { openPage } from '../helpers/open-page.ts'
import { wrongWith } from '../helpers/wrong-with.ts'

t.setTimeout(300_000)
const options = { ...needsChromium, timeout: 280_000 }
// High enough for all rows of a list.
const PHONE = { viewport: { width: 390, height: 8_000 } }

let browser: Browser
t.before(async () => {
  if (needsChromium.skip === false) browser = await launchChromium()
})
t.teardown(() => browser?.close())

// The service refuses halves of surrogate pairs.
const asInput = (text: string) => text.slice(0, 100_000).toWellFormed()

async function run(app: FastifyInstance, name: string, body: object, headers = {}): Promise<string> {
  const reply = await app.inject({ method: 'POST', url: `/api/agents/${name}/run`, headers, payload: body })
  if (reply.statusCode > 202) throw new Error(reply.body)
  return String(reply.headers['x-run-id'])
}

/** Starts a run for each group of texts, with the texts as its input and in its metadata as far as the service accepts them. */
const startAll = (app: FastifyInstance, name: string) =>
  Promise.all(
    HOSTILE_GROUPS.map((texts, group) => {
      const input = texts.map(([, text]) => ({ type: 'text', text: asInput(text) }))
      const cut = texts.map(([, text], index) => [`text${index}`, asInput(text.slice(0, 512))])
      const body = { input, metadata: { group: String(group), ...Object.fromEntries(cut) } }
      return run(app, name, body, { prefer: 'respond-async' })
    })
  )

/** The numbers of the parts with the call of each text, once a run has failed. */
async function callsOf(app: FastifyInstance, runId: string): Promise<number[]> {
  const calls: number[] = []
  for await (const part of app.runs.parts(runId)) {
    if (part.type === 'tool.call' && part.toolCallId.startsWith('call-')) calls.push(part.seq)
    if (part.type === 'error' && part.error.code !== 'HOSTILE') throw new Error(part.error.code)
  }
  return calls
}

const titlesOf = (group: number) => HOSTILE_GROUPS[group]!.map(([title]) => title).join(', ')

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
  const calls = await Promise.all(runs.map((runId) => callsOf(app, runId)))
  const { page, faults } = await openPage(t, browser, `${url}#/runs`, PHONE)
  await page.locator('.run-row').first().waitFor()
  t.strictSame(await wrongWith(page), [], 'the list of runs')
  for (const [group, runId] of runs.entries()) {
    t.equal(calls[group]!.length, HOSTILE_GROUPS[group]!.length)
    for (const [view, shown] of [
      [`run/${runId}?tab=content`, '.run-content .item'],
      ...calls[group]!.map(
        (seq) => [`run/${runId}?tab=parts&seq=${seq}`, `.part-detail[aria-label="Part ${seq}"]`] as const
      ),
      [`run/${runId}`, '.span'],
      [`run/${runId}?tab=wires`, '.run-wires:not(:has([aria-busy="true"])) section:has-text("A2A") li'],
      [`run/${runId}?tab=curl`, '.commands pre'],
      [`browser/${runId}`, '.shot-action']
    ] as const) {
      await page.goto(`${url}#/${view}`)
      await page.locator(shown).first().waitFor()
      t.strictSame(await wrongWith(page), [], `${titlesOf(group)}: ${view.replace(runId, '…')}`)
    }
  }
  t.strictSame(await faults(), [])
})

t.test('hostile texts in conversations', options, async (t) => {
  const { page: url, app } = await consoleApp(t, { add: addEcho })
  const { page, faults } = await openPage(t, browser, url, PHONE)
  const name = async (sessionId: string, title: string) => {
    const path = `/api/sessions/agent/echo/${encodeURIComponent(sessionId)}`
    const { statusCode } = await app.inject({ method: 'PATCH', url: path, payload: { title } })
    t.equal(statusCode, 200)
  }
  for (const [group, texts] of HOSTILE_GROUPS.entries()) {
    const sessionId = `group ${group}`
    for (const [title, text] of texts) {
      await run(app, 'echo', { input: asInput(text), sessionId })
      // For the list only.
      await run(app, 'echo', { input: 'x', sessionId: title })
      await name(title, asInput(text).slice(0, 100))
    }
    await name(sessionId, asInput(texts.map(([, text]) => text.slice(0, 100 / texts.length)).join('')))
    const session = `agent/echo/${encodeURIComponent(sessionId)}`
    await page.goto(`${url}#/talk/${session}`)
    await page
      .locator('.answer')
      .nth(texts.length - 1)
      .waitFor()
    t.strictSame(await wrongWith(page), [], titlesOf(group))
    await page.goto(`${url}#/sessions/${session}`)
    await page.locator('h1').waitFor()
    t.strictSame(await wrongWith(page), [], `${titlesOf(group)}: their session`)
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
  for (const [group, runId] of runs.entries()) {
    await page.goto(`${url}#/run/${runId}?tab=content`)
    await page
      .locator('.answer-card')
      .nth(2 * HOSTILE_GROUPS[group]!.length - 1)
      .waitFor()
    t.strictSame(await wrongWith(page), [], titlesOf(group))
  }
  t.strictSame(await faults(), [])
})
