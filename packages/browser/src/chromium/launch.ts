import type { Browser, BrowserType, Page } from 'playwright-core'
import { LATE, withinTime } from '../browser.ts'
import { EGRESS_FLAGS, EgressCheck } from '../egress/egress-check.ts'
import { RUN_ERR_BROWSER_FAILED, RUN_ERR_BROWSER_MISSING } from '../errors.ts'
import { ChromiumProcess } from './chromium-process.ts'
import { findChromium, requireProgram, type ChromiumPlan } from './plan-chromium.ts'

// Services of a desktop browser that no page needs; most of them would connect to their vendor. With `--site-per-process` Chromium
// also starts a spare renderer for each context, which a desk does not use: its first page has a process already.
const OFF = [
  'AutofillServerCommunication',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'SpareRendererForSitePerProcess',
  'Translate'
]

/** Arguments of every Chromium, besides those that guard its egress. */
const LAUNCH_FLAGS: readonly string[] = [
  '--headless',
  '--no-startup-window',
  '--remote-debugging-pipe',
  // A frame of another site never shares a process with the page, in the headless shell either.
  '--site-per-process',
  `--disable-features=${OFF.join(',')}`,
  '--enable-features=CDPScreenshotNewSurface,SkipListAccountsWithoutGaiaCookies',
  '--disable-background-networking',
  '--disable-breakpad',
  '--disable-client-side-phishing-detection',
  '--disable-component-extensions-with-background-pages',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-domain-reliability',
  '--disable-extensions',
  '--disable-field-trial-config',
  '--disable-quic',
  '--disable-search-engine-choice-screen',
  '--disable-sync',
  '--dns-prefetch-disable',
  '--metrics-recording-only',
  '--no-default-browser-check',
  '--no-first-run',
  '--no-pings',
  '--no-service-autorun',
  '--password-store=basic',
  '--use-mock-keychain',
  // Containers have little shared memory.
  '--disable-dev-shm-usage',
  // Pages live for seconds: by default V8 spends a tenth of their CPU on optimizing functions that are not called much longer. What is
  // called more often than this is optimized all the same.
  '--js-flags=--invocation-count-for-maglev=3000',
  // Pages in the background work as those in front do.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  // Playwright needs page loads that the cache of earlier pages would leave out, and input before the first frame.
  '--allow-pre-commit-input',
  '--disable-back-forward-cache',
  '--disable-hang-monitor',
  '--disable-prompt-on-repost',
  '--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4',
  '--force-color-profile=srgb',
  '--hide-scrollbars',
  '--mute-audio'
]

/** A Chromium that runs, with the connection to it. */
export interface RunningBrowser {
  readonly browser: Browser
  /**
   * Resolves once it is known to send nothing past its proxy; ends it otherwise, or if that takes longer than a launch may. `page`: an
   * empty one, in which that is found out if it is not known yet.
   * @throws RUN_ERR_BROWSER_FAILED, the error of the page if it crashes or closes
   */
  check(page: Page): Promise<void>
  /** Aborts when the browser, or the connection to it, has ended; with RUN_ERR_BROWSER_FAILED if it did not pass its check. */
  readonly ended: AbortSignal
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
  const { executablePath, sandbox, args } = plan
  const playwright = await loadPlaywright()
  const path =
    executablePath === undefined
      ? await findChromium()
      : await requireProgram(executablePath, 'executablePath')
  if (sandbox && process.getuid?.() === 0)
    throw new RUN_ERR_BROWSER_FAILED(
      "Chromium's sandbox does not work for root: run as another user, or set sandbox: false"
    )
  const flags = [...LAUNCH_FLAGS, ...EGRESS_FLAGS, ...(sandbox ? [] : ['--no-sandbox']), ...args]
  const start = async () => {
    const chromium = await ChromiumProcess.start(path, flags).catch((cause: unknown) => {
      if (cause instanceof RUN_ERR_BROWSER_FAILED) throw cause
      throw new RUN_ERR_BROWSER_FAILED('its program cannot be run', { cause })
    })
    return controlChromium(playwright, chromium, plan.launchTimeout)
  }
  // It may be killed while it starts: by the system for its memory, or by an update.
  const running = (await start()) ?? (await start())
  if (running === undefined) throw new RUN_ERR_BROWSER_FAILED('its process ends while it starts')
  return running
}

// Undefined if the process ends meanwhile.
async function controlChromium(
  playwright: BrowserType,
  chromium: ChromiumProcess,
  timeout: number
): Promise<RunningBrowser | undefined> {
  const gone = chromium.gone.then(() => undefined)
  // Its end breaks the connection too.
  const connecting = playwright
    .connectOverCDP(chromium.transport, { artifactsDir: chromium.folder, timeout: 0 })
    .catch(() => gone)
  try {
    const browser = await withinTime(Promise.race([connecting, gone]), timeout)
    if (browser === LATE) throw new RUN_ERR_BROWSER_FAILED(`it did not start within ${timeout} ms`)
    if (browser === undefined) return undefined
    const end = () => {
      chromium.keepAlive(true)
      chromium.kill()
      return chromium.gone
    }
    const egress = new EgressCheck()
    const failed = new AbortController()
    const check = async (page: Page) => {
      try {
        const passed = await withinTime(egress.pass(page), timeout)
        if (passed === LATE) throw new RUN_ERR_BROWSER_FAILED('it does not respond')
      } catch (err) {
        if (err instanceof RUN_ERR_BROWSER_FAILED) {
          failed.abort(err)
          void end()
        }
        throw err
      }
    }
    return {
      browser,
      check,
      end,
      ended: AbortSignal.any([failed.signal, chromium.ended]),
      keepAlive: (isNeeded) => chromium.keepAlive(isNeeded)
    }
  } catch (err) {
    chromium.kill()
    await chromium.gone
    throw err
  }
}

async function connectTo(endpoint: string, timeout: number): Promise<RunningBrowser> {
  const playwright = await loadPlaywright()
  const browser = await playwright.connectOverCDP(endpoint, { timeout }).catch((cause: unknown) => {
    throw new RUN_ERR_BROWSER_FAILED('its CDP endpoint does not respond', { cause })
  })
  const ended = new AbortController()
  browser.once('disconnected', () => ended.abort())
  return {
    browser,
    check: async () => undefined,
    ended: ended.signal,
    keepAlive: () => undefined,
    end: () => browser.close()
  }
}

// It is an optional peer.
async function loadPlaywright(): Promise<BrowserType> {
  try {
    return (await import('playwright-core')).chromium
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw err
    throw new RUN_ERR_BROWSER_MISSING('install the npm package playwright-core')
  }
}
