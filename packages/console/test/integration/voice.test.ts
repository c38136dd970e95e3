import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import realtime from '@svc/realtime'
import { Agent } from '@svc/runtime'
import { encodeTones, toneDetector, toneSpeech, toneTranscription } from '@svc/voice/testing'
import { scriptedModel } from '@svc/runtime/testing'
import { VoiceAgent } from '@svc/voice'
import { chromium } from 'playwright-core'
import t from 'tap'
import { CHROMIUM, needsChromium } from '../helpers/chromium.ts'
import { consoleApp } from '../helpers/console-app.ts'
import { openPage } from '../helpers/open-page.ts'
import { toWav } from '../helpers/to-wav.ts'

const RATE = 24_000
// As long as a slow machine needs to interrupt it.
const LONG = 'It is late, and there is a lot to say about that, more than anybody wants to hear. '.repeat(20)

t.setTimeout(120_000)

t.test(
  'a call: the transcript of both sides, an interruption, writing, hanging up',
  { ...needsChromium, timeout: 100_000 },
  async (t) => {
    const folder = t.testdir()
    const file = join(folder, 'microphone.wav')
    // The microphone reads its file each time that it is opened, and repeats the end of what it has read.
    const silence = new Int16Array(RATE)
    const willHear = (text: string) =>
      writeFileSync(file, toWav([silence, encodeTones(text, RATE), silence], RATE))
    willHear('What time is it?')
    const browser = await chromium.launch({
      executablePath: CHROMIUM!,
      args: [
        '--no-sandbox',
        '--use-fake-device-for-media-stream',
        '--use-fake-ui-for-media-stream',
        `--use-file-for-fake-audio-capture=${file}%noloop`
      ]
    })
    t.teardown(() => browser.close())

    const { page: url, app } = await consoleApp(t, {
      options: { surfaces: { realtime: '/v1' } },
      after: async (scope) => scope.register(realtime, { prefix: '/v1' }),
      add(registry) {
        const model = scriptedModel(({ prompt }) =>
          JSON.stringify(prompt.at(-1)).includes('time') ? LONG : 'As you *like*.'
        )
        new VoiceAgent({
          name: 'phone',
          registry,
          listen: toneTranscription(),
          speak: toneSpeech(),
          answer: new Agent({ name: 'desk', register: false, model }),
          turns: { detect: toneDetector() }
        })
      }
    })
    const { page, faults, axe } = await openPage(t, browser, `${url}#/talk/agent/phone`, {
      permissions: ['microphone']
    })
    const call = page.getByRole('region', { name: 'Call' })
    await page.getByRole('button', { name: 'Call' }).click()
    await page.locator('.asked-bubble', { hasText: 'What time is it?' }).waitFor()
    await call.getByText('Speaking').waitFor()
    await page.getByText('more than anybody wants to hear').waitFor()
    t.strictSame(await axe(), [], 'nothing is wrong with a call')

    t.comment('the visitor speaks while the answer is spoken')
    willHear('Stop it now')
    await call.getByRole('button', { name: 'Mute' }).click()
    await call.getByRole('button', { name: 'Mute', pressed: true }).click()
    await page.getByText('Interrupted').waitFor()
    await page.locator('.asked-bubble', { hasText: 'Stop it now' }).waitFor()
    await page.getByText('As you like.').waitFor()
    const spoken = await page.locator('.markdown').first().innerText()
    t.ok(LONG.startsWith(spoken.slice(0, 20)) && spoken.length < LONG.length, spoken)

    t.comment('in writing')
    await call.getByText('Listening').waitFor()
    await page.getByLabel('Message to phone').fill('Which time?')
    await page.keyboard.press('Enter')
    await page.locator('.asked-bubble', { hasText: 'Which time?' }).waitFor()
    await call.getByText('Speaking').waitFor()
    await call.getByRole('button', { name: 'Interrupt' }).click()
    await page.getByText('Interrupted').nth(1).waitFor()

    await call.getByRole('button', { name: 'Hang up' }).click()
    await call.waitFor({ state: 'detached' })
    await page.locator('[data-status=completed]').waitFor()
    const { runs } = await app.runs.list({ limit: 2 })
    t.match(runs, [{ name: 'phone', status: 'completed' }])
    t.equal(runs.length, 1)
    t.strictSame(await faults(), [])
  }
)
