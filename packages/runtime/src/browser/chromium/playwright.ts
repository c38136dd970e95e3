import type { BrowserType } from 'playwright-core'
import { RUN_ERR_BROWSER_MISSING } from '../../errors.ts'

/** Loads the optional peer `playwright-core`. @throws RUN_ERR_BROWSER_MISSING */
export async function loadPlaywright(): Promise<BrowserType> {
  try {
    return (await import('playwright-core')).chromium
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw err
    throw new RUN_ERR_BROWSER_MISSING('install the npm package playwright-core')
  }
}
