import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { recordingsOf, recordPage, statesOf } from './page-recorder.ts'
import { roomOf, toWav, type Sound } from './sounds.ts'

/** What the console shows at the end of a call, and has played. */
export interface Shown {
  readonly understood: readonly string[]
  /** Without the greeting, which is in the recordings. */
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
const ANSWER = '.item:has(.markdown)'

/** A call of the demo's phone from its console, in a Chromium whose microphone plays a file. */
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
    await this.#untilState('speaking')
  }

  /** Says something: the microphone reads its file each time that it is opened. */
  async say(sound: Sound): Promise<void> {
    await this.#press(true)
    this.#load([sound])
    await this.#press(false)
  }

  /** Waits until an answer is spoken. @param count of the answers by then */
  async untilSpeaking(count: number): Promise<void> {
    await this.#untilAnswers(count)
    await this.#untilState('speaking')
  }

  /** Waits until an answer was spoken; fails if it was not after 30 seconds. @param count of the answers by then, 0 for the greeting */
  async untilSpoken(count: number): Promise<void> {
    await this.#untilAnswers(count)
    await this.#untilState('listening')
  }

  async read(): Promise<Shown> {
    const page = this.#page
    const answers = await page.locator(ANSWER).all()
    return {
      understood: await page.locator('.asked-bubble').allTextContents(),
      answers: await Promise.all(
        answers.map(async (item) => ({
          text: await item.locator('.markdown').innerText(),
          wasCut: await item.getByText('Interrupted', { exact: true }).isVisible()
        }))
      ),
      states: await statesOf(page),
      hasNotice: await page.getByRole('alert').isVisible(),
      played: await recordingsOf(page)
    }
  }

  async close(): Promise<void> {
    await this.#page.context().browser()?.close()
  }

  async #untilAnswers(count: number): Promise<void> {
    if (count > 0)
      await this.#page
        .locator(ANSWER)
        .nth(count - 1)
        .waitFor()
  }

  async #untilState(state: 'listening' | 'speaking'): Promise<void> {
    await this.#page.locator(`.call[data-state=${state}]`).waitFor()
  }

  #load(sounds: readonly Sound[]): void {
    const rate = sounds[0]?.rate ?? 22_050
    writeFileSync(this.#file, toWav([roomOf(BEFORE, rate), ...sounds]))
  }

  async #press(muted: boolean): Promise<void> {
    await this.#page.getByRole('button', { name: 'Mute' }).click()
    await this.#page.locator(`.call [aria-pressed=${muted}]`).waitFor()
  }
}
