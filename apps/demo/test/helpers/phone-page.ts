import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Locator, type Page } from 'playwright-core'
import { recordingsOf, recordPage, statesOf } from './page-recorder.ts'
import { roomOf, toWav, type Sound } from './sounds.ts'

/** What the page of a call shows at its end, and has played. */
export interface Shown {
  readonly understood: readonly string[]
  /** With the greeting, as the recordings. */
  readonly answers: readonly Answer[]
  readonly states: readonly string[]
  readonly hasNotice: boolean
  readonly played: readonly Sound[]
}

/** A line of the transcript. */
export interface Answer {
  readonly text: string
  readonly wasCut: boolean
}

/** Milliseconds of a quiet room before what is said; after it the microphone is silent. */
const BEFORE = 300

/** The page of the demo's phone, in a Chromium whose microphone plays a file. */
export class PhonePage {
  readonly #page: Page
  readonly #file: string

  private constructor(page: Page, file: string) {
    this.#page = page
    this.#file = file
  }

  /** @param folder for the file of the microphone, which each Chromium reads when a page asks for the microphone */
  static async open(url: string, executablePath: string, folder: string): Promise<PhonePage> {
    const file = join(folder, 'microphone.wav')
    const browser = await chromium.launch({
      executablePath,
      chromiumSandbox: process.getuid?.() !== 0,
      args: [
        '--use-fake-device-for-media-stream',
        '--use-fake-ui-for-media-stream',
        `--use-file-for-fake-audio-capture=${file}%noloop`,
        '--autoplay-policy=no-user-gesture-required'
      ]
    })
    const context = await browser.newContext({ permissions: ['microphone'] })
    const page = await context.newPage()
    page.on('pageerror', (err) => {
      throw err
    })
    await recordPage(page)
    await page.goto(url)
    return new PhonePage(page, file)
  }

  /** Calls without saying anything, and waits for the greeting. */
  async call(): Promise<void> {
    this.#load([])
    await this.#page.getByRole('button', { name: 'Call', exact: true }).click()
    await this.untilSpeaking(0)
  }

  /** Says something: the microphone reads its file each time that it is opened. */
  async say(sound: Sound): Promise<void> {
    await this.#press(true)
    this.#load([sound])
    await this.#press(false)
  }

  /** Waits until an answer is spoken. @param index of the answer, 0 for the greeting */
  async untilSpeaking(index: number): Promise<void> {
    await this.#lineOf(index).waitFor()
    await this.#page.locator('body[data-state=speaking]').waitFor()
  }

  /** Waits until an answer was spoken; false if there is none after 30 seconds. @param index of the answer, 0 for the greeting */
  async untilSpoken(index: number): Promise<boolean> {
    const lines = [this.#lineOf(index), this.#page.locator('body[data-state=listening]')]
    for (const line of lines)
      if (
        !(await line.waitFor().then(
          () => true,
          () => false
        ))
      )
        return false
    return true
  }

  async read(): Promise<Shown> {
    const page = this.#page
    const answers = await page.locator('#transcript .assistant').all()
    return {
      understood: await page.locator('#transcript .user span').allTextContents(),
      answers: await Promise.all(
        answers.map(async (line) => ({
          text: await line.locator('span').innerText(),
          wasCut: (await line.getAttribute('class'))!.includes('cut')
        }))
      ),
      states: await statesOf(page),
      hasNotice: await page.locator('#notice').isVisible(),
      played: await recordingsOf(page)
    }
  }

  async close(): Promise<void> {
    await this.#page.context().browser()?.close()
  }

  #lineOf(index: number): Locator {
    return this.#page.locator('#transcript .assistant').nth(index)
  }

  #load(sounds: readonly Sound[]): void {
    const rate = sounds[0]?.rate ?? 22_050
    writeFileSync(this.#file, toWav([roomOf(BEFORE, rate), ...sounds]))
  }

  async #press(muted: boolean): Promise<void> {
    await this.#page.getByRole('button', { name: 'Mute' }).click()
    await this.#page.locator(`#mute[aria-pressed=${muted}]`).waitFor()
  }
}
