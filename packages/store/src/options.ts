import { Type } from '@sinclair/typebox'
import { givenOf, optionsSchema, requireOptions } from '@svc/registry/kit'
import { STO_ERR_BAD_OPTION } from './errors.ts'

/** Options of a store. */
export interface StoreOptions {
  /** `sqlite:` and a path, or `sqlite::memory:`; default `sqlite:./data/app.db`. */
  url?: string
  /** `normal` (default) survives every crash of the process, `full` also a power failure. */
  durability?: 'normal' | 'full'
  retention?: Partial<Retention>
  files?: Partial<FileLimits>
  /**
   * 32 bytes in base64 or hexadecimal digits, which encrypt the cookies and local storage of browsers. Without it they are not stored.
   */
  stateKey?: string
}

/** The limits of the files of runs; see `RUN_ERR_FILE_LIMIT`. */
export interface FileLimits {
  /** Maximum bytes of one file; default 100 MiB. */
  maxBytes: number
  /** Maximum bytes of the files of one run; default 512 MiB. */
  maxRunBytes: number
}

/** What a store keeps, and for how long. */
export interface Retention {
  /** Retention of finished runs in milliseconds; default 7 days. */
  maxAge: number
  /** Maximum number of finished runs; default 100,000. */
  maxRuns: number
  /** Maximum bytes of their logs, results and steps; default 1 GiB. */
  maxBytes: number
  /** Maximum bytes of the files of finished runs; default 4 GiB. */
  fileMaxBytes: number
  /** Retention of a session after its last message in milliseconds; default 30 days, 0 keeps it forever. */
  sessionMaxAge: number
  /** Maximum number of memories per owner and agent; default 10,000. */
  memoryMaxItems: number
  /** Retention of a memory in milliseconds; default 365 days, 0 keeps it forever. */
  memoryMaxAge: number
}

export const StoreOptionsSchema = optionsSchema<StoreOptions>({
  url: Type.String(),
  durability: Type.Union([Type.Literal('normal'), Type.Literal('full')]),
  retention: optionsSchema<Partial<Retention>>({
    maxAge: Type.Integer({ minimum: 0 }),
    maxRuns: Type.Integer({ minimum: 0 }),
    maxBytes: Type.Integer({ minimum: 0 }),
    fileMaxBytes: Type.Integer({ minimum: 0 }),
    sessionMaxAge: Type.Integer({ minimum: 0 }),
    memoryMaxItems: Type.Integer({ minimum: 1 }),
    memoryMaxAge: Type.Integer({ minimum: 0 })
  }),
  files: optionsSchema<Partial<FileLimits>>({
    maxBytes: Type.Integer({ minimum: 0 }),
    maxRunBytes: Type.Integer({ minimum: 0 })
  }),
  stateKey: Type.String()
})

/** Options with their defaults. */
export interface ResolvedOptions {
  /** The file; `:memory:` for none. */
  path: string
  durability: 'normal' | 'full'
  retention: Retention
  files: FileLimits
  stateKey: Buffer | undefined
}

const DAY = 86_400_000
const DEFAULT_RETENTION: Retention = {
  maxAge: 7 * DAY,
  maxRuns: 100_000,
  maxBytes: 1_073_741_824,
  fileMaxBytes: 4_294_967_296,
  sessionMaxAge: 30 * DAY,
  memoryMaxItems: 10_000,
  memoryMaxAge: 365 * DAY
}
const DEFAULT_FILES: FileLimits = { maxBytes: 104_857_600, maxRunBytes: 536_870_912 }

/** Validates options and fills in the defaults. @throws STO_ERR_BAD_OPTION */
export function resolveOptions(options: StoreOptions): ResolvedOptions {
  requireOptions(StoreOptionsSchema, options, STO_ERR_BAD_OPTION)
  const { url = 'sqlite:./data/app.db', durability = 'normal', retention = {}, files = {} } = options
  return {
    path: pathOf(url),
    durability,
    retention: { ...DEFAULT_RETENTION, ...givenOf(retention) },
    files: { ...DEFAULT_FILES, ...givenOf(files) },
    stateKey: options.stateKey === undefined ? undefined : keyOf(options.stateKey)
  }
}

const KEY_BYTES = 32

// Never shows the key.
function keyOf(text: string): Buffer {
  const key = Buffer.from(text, /^[\da-f]{64}$/i.test(text) ? 'hex' : 'base64')
  if (key.length !== KEY_BYTES)
    throw new STO_ERR_BAD_OPTION('stateKey: expected 32 bytes, in base64 or as 64 hexadecimal digits')
  return key
}

function pathOf(url: string): string {
  const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1]
  if (path === undefined) throw new STO_ERR_BAD_OPTION('url: it must be `sqlite:` and a path')
  if (path.includes('\u0000')) throw new STO_ERR_BAD_OPTION('url: the path has a null character')
  return path
}
