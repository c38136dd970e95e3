import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { Type } from '@sinclair/typebox'
import { defined, MAX_TIMER, optionsSchema, requireOptions } from '@svc/contract'
import { RUN_ERR_BAD_BROWSER, RUN_ERR_BROWSER_MISSING } from '../errors.ts'

/** Options of `chromium`. */
export interface ChromiumOptions {
  /** The program to start; default: `CHROMIUM_PATH`, then the folders of `PATH`, then the usual places. */
  executablePath?: string
  /** Chromium's own sandbox; default true. It does not work for root. */
  sandbox?: boolean
  /** More command-line arguments, as `--lang=de`; those that would weaken the guard are refused. */
  args?: readonly string[]
  /** The CDP endpoint of a running Chromium, `ws:` or `http:`. Its egress is not guarded. */
  connect?: string
  /** Maximum number of open desks; default 8. */
  pages?: number
  /** Milliseconds that `open` waits for another desk to close; default 30,000. */
  openTimeout?: number
  /** Milliseconds until the start of the browser counts as failed; default 15,000. */
  launchTimeout?: number
  /** Milliseconds without a desk until the process ends; default 60,000. */
  idle?: number
  /** CSS pixels; default 1280 × 800. */
  viewport?: { width: number; height: number }
  /** What pages see as the user's language, e.g. `de-CH`; default `en-US`. */
  locale?: string
  /** What pages see as the time zone, e.g. `Europe/Zurich`; default `UTC`. */
  timezone?: string
}

const pixels = Type.Integer({ minimum: 100, maximum: 4_000 })

export const ChromiumOptionsSchema = optionsSchema<ChromiumOptions>({
  executablePath: Type.String({ minLength: 1 }),
  sandbox: Type.Boolean(),
  args: Type.Readonly(Type.Array(Type.String({ pattern: '^--[a-z]' }))),
  connect: Type.String({ pattern: '^(ws|http)s?://[^\\s]+$' }),
  pages: Type.Integer({ minimum: 1, maximum: 1_000 }),
  openTimeout: Type.Integer({ minimum: 0, maximum: MAX_TIMER }),
  launchTimeout: Type.Integer({ minimum: 1, maximum: MAX_TIMER }),
  idle: Type.Integer({ minimum: 0, maximum: MAX_TIMER }),
  viewport: Type.Object({ width: pixels, height: pixels }, { additionalProperties: false }),
  locale: Type.String({ pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$' }),
  timezone: Type.String({ minLength: 1 })
})

// The headless shell starts faster and takes less memory than the whole browser.
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome'
]
const PLACES = [
  ...NAMES.map((name) => `/usr/bin/${name}`),
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe'
]
const INSTALL = 'install one, e.g. the Debian package chromium-headless-shell'

/**
 * Finds Chromium: `CHROMIUM_PATH`, the folders of `PATH`, the usual places.
 * @throws RUN_ERR_BROWSER_MISSING
 */
export async function findChromium(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const { CHROMIUM_PATH: given, PATH = '' } = env
  if (given !== undefined && given !== '') return requireProgram(given, 'CHROMIUM_PATH')
  const onPath = NAMES.flatMap((name) =>
    PATH.split(delimiter)
      .filter(Boolean)
      .map((folder) => join(folder, name))
  )
  for (const path of [...onPath, ...PLACES]) if (await isExecutable(path)) return path
  throw new RUN_ERR_BROWSER_MISSING(`${INSTALL}, or set CHROMIUM_PATH`)
}

/** Returns a path that a setting gives, if it is a program. @throws RUN_ERR_BROWSER_MISSING */
export async function requireProgram(path: string, setting: string): Promise<string> {
  if (await isExecutable(path)) return path
  throw new RUN_ERR_BROWSER_MISSING(`${setting} names no program: ${path}; ${INSTALL}`)
}

// Folders can be executable too.
async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}

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
  return { ...DEFAULTS, ...defined(options) }
}

function isTimezone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone !== undefined
  } catch {
    return false
  }
}
