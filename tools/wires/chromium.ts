import { findChromium } from '@svc/browser'
import { chromium, type Browser } from 'playwright-core'

const executablePath = await findChromium().catch(() => undefined)

/** For the options of a test that needs Chromium. */
export const needsChromium = {
  skip: executablePath === undefined && 'no Chromium is installed; see CHROMIUM_PATH'
}

/** Starts Chromium. Its own sandbox does not work for root, as which tests run in containers. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox'] })
}
