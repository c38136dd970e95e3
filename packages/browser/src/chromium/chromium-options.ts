import { Type } from '@sinclair/typebox'
import { MAX_TIMER, optionsSchema } from '@svc/contract'

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
