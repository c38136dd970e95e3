import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'

const PLACES = [process.env['CHROMIUM_PATH'], '/usr/bin/chromium-headless-shell', '/usr/bin/chromium']
/** The Chromium of this machine; undefined if there is none. */
export const CHROMIUM = PLACES.find((place) => place !== undefined && existsSync(place))

/** For the options of a test that needs Chromium. */
export const needsChromium = {
  skip: CHROMIUM === undefined && 'no Chromium is installed; see CHROMIUM_PATH'
}

/** Starts Chromium. Its own sandbox does not work for root, as which tests run in containers. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox'] })
}
