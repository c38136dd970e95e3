import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'
import t from 'tap'
import { findChromium } from '../../src/chromium/plan-chromium.ts'

// Browsers are slow on a busy machine: a file that hangs is ended, and one that waits for a processor is not.
t.setTimeout(120_000)

/** The Chromium of this machine; undefined if there is none. */
export const CHROMIUM = await findChromium().catch(() => undefined)

/** All kinds of Chromium of this machine. */
export const CHROMIUMS: readonly string[] = [
  ...new Set([CHROMIUM, '/usr/bin/chromium-headless-shell', '/usr/bin/chromium'])
].filter((path): path is string => path !== undefined && existsSync(path))

/** For the options of a test that needs Chromium. */
export const needsChromium = { skip: CHROMIUM === undefined && 'no Chromium is installed' }

/** Starts Chromium with plain Playwright, for tests of parts that a desk is made of. */
export function launchPlain(args: readonly string[] = []): Promise<Browser> {
  // Chromium's own sandbox does not work for root, as which tests run in containers.
  return chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox', ...args] })
}
