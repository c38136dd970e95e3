import { setTimeout as pause } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { RUN_ERR_BROWSER_FAILED } from '../../errors.ts'
import type { ChromiumPlan } from './plan-chromium.ts'
import { ChromiumProcess } from './chromium-process.ts'
import { findChromium, requireProgram } from './find-chromium.ts'
import { LAUNCH_FLAGS } from './flags.ts'
import { loadPlaywright } from './playwright.ts'

/** A Chromium that runs, with the connection to it. */
export interface RunningBrowser {
  readonly browser: Browser
  /** Whether this process stays alive for the sake of the browser. */
  keepAlive(isNeeded: boolean): void
  /** Ends it, or the connection if it was not started here; resolves once nothing of it is left. */
  end(): Promise<void>
}

/**
 * Starts Chromium, or connects to one that runs.
 * @throws RUN_ERR_BROWSER_MISSING, RUN_ERR_BROWSER_FAILED
 */
export async function launchBrowser(plan: ChromiumPlan): Promise<RunningBrowser> {
  return plan.connect === undefined ? launchChromium(plan) : connectTo(plan.connect, plan.launchTimeout)
}

async function launchChromium(plan: ChromiumPlan): Promise<RunningBrowser> {
  const { executablePath, sandbox, launchTimeout } = plan
  const playwright = await loadPlaywright()
  const path =
    executablePath === undefined
      ? await findChromium()
      : await requireProgram(executablePath, 'executablePath')
  if (sandbox && process.getuid?.() === 0)
    throw new RUN_ERR_BROWSER_FAILED(
      "Chromium's sandbox does not work for root: run as another user, or set sandbox: false"
    )
  const flags = [...LAUNCH_FLAGS, ...(sandbox ? [] : ['--no-sandbox']), ...plan.args]
  const chromium = await ChromiumProcess.start(path, flags).catch((cause: unknown) => {
    throw new RUN_ERR_BROWSER_FAILED('its program cannot be run', { cause })
  })
  const timer = new AbortController()
  try {
    const browser = await Promise.race([
      playwright.connectOverCDP(chromium.transport, { artifactsDir: chromium.folder, timeout: 0 }),
      chromium.gone.then(() => {
        throw new RUN_ERR_BROWSER_FAILED('its process ended while it was starting')
      }),
      pause(launchTimeout, undefined, { signal: timer.signal }).then(() => {
        throw new RUN_ERR_BROWSER_FAILED(`it did not start within ${launchTimeout} ms`)
      })
    ])
    return {
      browser,
      keepAlive: (isNeeded) => chromium.keepAlive(isNeeded),
      end() {
        chromium.keepAlive(true)
        chromium.kill()
        return chromium.gone
      }
    }
  } catch (err) {
    chromium.kill()
    await chromium.gone
    throw err
  } finally {
    timer.abort()
  }
}

async function connectTo(endpoint: string, timeout: number): Promise<RunningBrowser> {
  const playwright = await loadPlaywright()
  const browser = await playwright.connectOverCDP(endpoint, { timeout }).catch((cause: unknown) => {
    throw new RUN_ERR_BROWSER_FAILED('its CDP endpoint does not respond', { cause })
  })
  return { browser, keepAlive: () => undefined, end: () => browser.close() }
}
