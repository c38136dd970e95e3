import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import t, { type Test } from 'tap'
import { launchChromium, needsChromium } from '../helpers/chromium.ts'
import { openPage } from '../helpers/open-page.ts'

const SERVICE = new URL('../helpers/killable-service.ts', import.meta.url).pathname

t.setTimeout(120_000)

let browser: Browser
t.before(async () => {
  if (needsChromium.skip === false) browser = await launchChromium()
})
t.teardown(() => browser?.close())

/** A service whose processes follow each other at one address. */
class Service {
  readonly #db: string
  #child: ChildProcess | undefined
  #port = '0'

  constructor(t: Test) {
    this.#db = join(t.testdir(), 'app.db')
    t.teardown(() => this.kill())
  }

  async start(...more: string[]): Promise<void> {
    const { NODE_OPTIONS: _, ...env } = process.env
    const command = ['--conditions=@svc/source', SERVICE, `sqlite:${this.#db}`, this.#port, ...more]
    const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'], env })
    this.#child = child
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    this.#port = String(line).trim()
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  get page(): string {
    return `http://127.0.0.1:${this.#port}/console/`
  }
}

t.test(
  'kill -9 in the middle of an answer: the page says that it was cut off, and continues',
  { ...needsChromium, timeout: 100_000 },
  async (t) => {
    const service = new Service(t)
    await service.start('hangs')
    const talk = await openPage(t, browser, `${service.page}#/talk/agent/support`)
    await talk.page.getByLabel('Message to support').fill('Count')
    await talk.page.keyboard.press('Enter')
    await talk.page.getByText('one two').waitFor()
    const address = await talk.page.getByRole('link', { name: 'Open the run' }).getAttribute('href')
    const run = await openPage(t, browser, `${service.page}${address}?tab=content`)
    await run.page.getByText('one two').waitFor()
    await service.kill()

    for (const { page, axe } of [talk, run]) {
      const notice = page.getByText(/It continues in/)
      await notice.waitFor()
      t.match(await notice.innerText(), /cut off|cannot be reached/)
      t.match(await page.locator('main').innerText(), 'one two', 'what was said stays')
      t.strictSame(await axe(), [])
    }
    await service.start()
    for (const { page } of [talk, run]) {
      await page.getByText('one two three').waitFor({ timeout: 60_000 })
      await page.getByText(/It continues in/).waitFor({ state: 'detached' })
      t.equal(await page.getByText('one two').count(), 1, 'what was void is gone')
    }

    t.comment('the session continues in the next process')
    await talk.page.getByLabel('Message to support').fill('Again')
    await talk.page.keyboard.press('Enter')
    await talk.page.locator('.turn').nth(1).getByText('one two three').waitFor()
    t.strictSame([...(await talk.faults()), ...(await run.faults())], [])
  }
)
