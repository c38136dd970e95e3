import { givenOf, requireOptions } from '@svc/contract'
import { RUN_ERR_BAD_BROWSER } from '../errors.ts'
import { ChromiumOptionsSchema, type ChromiumOptions } from './chromium-options.ts'

const DEFAULTS = Object.freeze({
  sandbox: true,
  args: [] as readonly string[],
  pages: 8,
  openTimeout: 30_000,
  launchTimeout: 15_000,
  idle: 60_000,
  viewport: { width: 1280, height: 800 },
  locale: 'en-US',
  timezone: 'UTC'
})

// They decide who controls the browser, where it connects to, and what separates its pages.
const RESERVED =
  /^--(?:remote-debugging|user-data-dir|no-sandbox|proxy-|no-proxy|host-|(?:force-)?webrtc-|disable-(?:web-security|site-isolation|features)|enable-features|load-extension|single-process|no-zygote|headless)/

// Nothing of them applies to a browser that someone else has started.
const OF_LAUNCH = ['executablePath', 'sandbox', 'args', 'idle'] as const

/** Options of `chromium` with their defaults. */
export type ChromiumPlan = Omit<ChromiumOptions, keyof typeof DEFAULTS> &
  Required<Pick<ChromiumOptions, keyof typeof DEFAULTS>>

/** Checks the options, and adds defaults. @throws RUN_ERR_BAD_BROWSER */
export function planChromium(options: ChromiumOptions): ChromiumPlan {
  requireOptions(ChromiumOptionsSchema, options, RUN_ERR_BAD_BROWSER)
  const { args = [], connect, timezone } = options
  for (const [index, arg] of args.entries())
    if (RESERVED.test(arg)) throw new RUN_ERR_BAD_BROWSER(`args/${index} is set by the service: ${arg}`)
  const unused = connect === undefined ? undefined : OF_LAUNCH.find((name) => options[name] !== undefined)
  if (unused !== undefined) throw new RUN_ERR_BAD_BROWSER(`${unused} does not apply with connect`)
  if (timezone !== undefined && !isTimezone(timezone))
    throw new RUN_ERR_BAD_BROWSER(`timezone is unknown: ${timezone}`)
  return { ...DEFAULTS, ...givenOf(options) }
}

function isTimezone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone !== undefined
  } catch {
    return false
  }
}
