import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { chromium } from '@svc/browser'
import { browserContract } from '../../src/testing/browser-contract.ts'
import t, { type Test } from 'tap'
import { CHROMIUM, CHROMIUMS, needsChromium } from '../helpers/chromium.ts'

// Two browsers and a hundred pages.
t.setTimeout(300_000)

for (const executablePath of CHROMIUMS)
  t.test(executablePath, async (t) => {
    browserContract(t, () => chromium({ executablePath, sandbox: false }))
  })

t.test('a browser that runs already', needsChromium, async (t) => {
  const connect = await startEndpoint(t)
  browserContract(t, () => chromium({ connect }))
})

/** Starts Chromium with a CDP endpoint. */
async function startEndpoint(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'profile-'))
  const args = ['--headless', '--no-sandbox', '--remote-debugging-port=0', `--user-data-dir=${folder}`]
  const browser = spawn(CHROMIUM!, args, { stdio: ['ignore', 'ignore', 'pipe'], detached: true })
  t.teardown(async () => {
    process.kill(-browser.pid!, 'SIGKILL')
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  })
  for await (const line of createInterface(browser.stderr)) {
    const [, endpoint] = /^DevTools listening on (ws:.*)$/.exec(line) ?? []
    if (endpoint !== undefined) return endpoint
  }
  throw new Error('Chromium ended')
}
