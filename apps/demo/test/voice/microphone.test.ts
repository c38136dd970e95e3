import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findChromium } from '@svc/runtime/browser'
import { chromium, type Page } from 'playwright-core'
import t from 'tap'
import { buildApp } from '../../src/app.ts'
import { readEnv } from '../../src/env.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'
import { chooseVoice } from '../../src/voice/choose-voice.ts'
import { roomOf, speak, toWav } from '../helpers/sounds.ts'
import { skip } from '../helpers/speech-programs.ts'

/** What two users say, and what is left of the answers. The answer about streams is so long that the next question interrupts it. */
const CALLS = [
  [
    ['my name is ada', /^Noted: Your name is ada\.$/],
    ['what is my name', /^Your name is ada\.$/],
    ['thank you', /^You are welcome\.$/]
  ],
  [
    ['my name is ada', /^Noted: Your name is ada\.$/],
    ['how do i resume a stream', /^Request the run/],
    ['what is fifty plus two', /^50 plus 2 is 52\.$/]
  ]
] as const

/** Milliseconds from the end of one question to the next: for the silence, the transcript and the answer. */
const BETWEEN = 7_000

/** Milliseconds of silence before the first question: for the greeting. */
const BEFORE = 9_000
/** Records the states that the page shows. */
const WATCH = `
  var states = []
  new MutationObserver(() => {
    const { state } = document.body.dataset
    if (states.at(-1) !== state) states.push(state)
  }).observe(document.body, { attributeFilter: ['data-state'] })`

const RETRIES = 2

t.setTimeout(200_000)

const executablePath = await findChromium().catch(() => undefined)
const noChromium = executablePath === undefined && 'There is no Chromium'

async function startDemo(t: Test): Promise<string> {
  const env = readEnv({ DATA_DIR: t.testdir(), LOG_LEVEL: 'silent' })
  const app = await buildApp(env, createOfflineModel({ delay: 0 }), { voice: await chooseVoice({}) })
  t.teardown(() => app.close())
  return app.listen({ port: 0, host: '127.0.0.1' })
}

type Test = { teardown(what: () => unknown): unknown; testdir(): string }

/** Opens the page in a Chromium whose microphone plays a file. */
async function openPage(t: Test, url: string, wav: Buffer): Promise<Page> {
  const file = join(t.testdir(), 'microphone.wav')
  writeFileSync(file, wav)
  const browser = await chromium.launch({
    executablePath: executablePath!,
    chromiumSandbox: process.getuid?.() !== 0,
    args: [
      '--use-fake-device-for-media-stream',
      '--use-fake-ui-for-media-stream',
      `--use-file-for-fake-audio-capture=${file}%noloop`,
      '--autoplay-policy=no-user-gesture-required'
    ]
  })
  t.teardown(() => browser.close())
  const context = await browser.newContext({ permissions: ['microphone'] })
  const page = await context.newPage()
  page.on('pageerror', (err) => {
    throw err
  })
  await page.goto(url)
  return page
}

async function toFile(texts: readonly string[]): Promise<Buffer> {
  const spoken = await Promise.all(texts.map(speak))
  const { rate } = spoken[0]!
  return toWav([roomOf(BEFORE, rate), ...spoken.flatMap((sound) => [sound, roomOf(BETWEEN, rate)])])
}

/** What the page shows at the end of a call. */
interface Shown {
  understood: string[]
  answers: string[]
  cuts: number
  states: string[]
  hasNotice: boolean
}

/** Calls from the page until all questions are answered, or the file of the microphone is over. */
async function hold(t: Test, origin: string, texts: readonly string[]): Promise<Shown> {
  const page = await openPage(t, `${origin}/voice/`, await toFile(texts))
  await page.evaluate(WATCH)
  await page.getByRole('button', { name: 'Call' }).click()
  // The first is the greeting.
  const last = page.locator('#transcript .assistant').nth(texts.length)
  await last.waitFor({ timeout: BEFORE + texts.length * (BETWEEN + 3_000) }).catch(() => {})
  await page.locator('body[data-state=listening]').waitFor()
  const textsOf = (role: string) => page.locator(`#transcript .${role} span`).allTextContents()
  const shown = {
    understood: await textsOf('user'),
    answers: (await textsOf('assistant')).slice(1),
    cuts: await page.locator('#transcript .assistant.cut').count(),
    states: await page.evaluate<string[]>('states'),
    hasNotice: await page.locator('#notice').isVisible()
  }
  await page.context().browser()?.close()
  return shown
}

function isComplete({ understood, answers, cuts }: Shown, texts: readonly string[]): boolean {
  return understood.join() === texts.join() && answers.length === texts.length && cuts < 2
}

t.test(
  'questions into the microphone of the page are answered, and interrupt long answers',
  { skip: skip || noChromium, jobs: CALLS.length },
  async (t) => {
    const origin = await startDemo(t)
    const calls = CALLS.map((turns, index) =>
      t.test(`call ${index + 1}`, async (t) => {
        const texts = turns.map(([text]) => text)
        let call = await hold(t, origin, texts)
        // A machine that is busy drops audio of its fake microphone.
        for (let retry = 0; retry < RETRIES && !isComplete(call, texts); retry++)
          call = await hold(t, origin, texts)

        t.same(call.understood, texts)
        for (const [at, [, expected]] of turns.entries()) t.match(call.answers[at], expected)
        t.equal(call.cuts, index, 'only the long answer was cut')
        t.match(call.states.join(), 'listening,thinking,speaking,listening')
        t.equal(call.hasNotice, false)
      })
    )
    await Promise.all(calls)
  }
)
