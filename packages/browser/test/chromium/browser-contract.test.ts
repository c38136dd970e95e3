import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { chromium } from '@svc/browser'
import { isFull } from '@tools/wires/volume'
import { browserContract, type MakeBrowser } from '../../src/testing/browser-contract.ts'
import t, { type Test } from 'tap'
import { CHROMIUM, CHROMIUMS, needsChromium } from '../helpers/chromium.ts'

// Browsers and up to a hundred pages.
t.setTimeout(isFull ? 300_000 : 180_000)

/** What other ways to the same engine pass in the short form. */
const SMOKE = new Set([
  'opens a desk with one empty tab',
  'fills in a form',
  'downloads files up to a size',
  'reports connections that it refuses'
])

type Check = (t: Test) => Promise<void>

/** The contract in full, or its smoke cases. */
function contract(t: Test, makeBrowser: MakeBrowser, inFull: boolean) {
  if (inFull) return browserContract(t, makeBrowser)
  const { equal, same, ok } = t
  const only = (parent: Test) => ({
    equal,
    same,
    ok,
    test: (name: string, options: object, check: Check) =>
      SMOKE.has(name) ? parent.test(name, options, check) : undefined
  })
  const test = (name: string, options: object, check: (t: never) => Promise<void>) =>
    t.test(name, options, (parent) => check(only(parent) as never))
  browserContract({ equal, same, ok, test }, makeBrowser)
}

for (const executablePath of CHROMIUMS)
  t.test(executablePath, async (t) => {
    contract(t, () => chromium({ executablePath, sandbox: false }), isFull || executablePath === CHROMIUM)
  })

t.test('a browser that runs already', needsChromium, async (t) => {
  const connect = await startEndpoint(t)
  contract(t, () => chromium({ connect }), isFull)
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
