import { Type, type TSchema } from '@sinclair/typebox'
import { millisecondsSchema, type BrowserStateStore, type Stores } from '@svc/contract'
import { createInProcessBrowserStateStore } from '@svc/registry/engine'
import type { Schema } from '@svc/runtime'
import { functionSchema, optional, strict } from '@svc/runtime/loop'
import type { Browser, DeskOptions } from './browser.ts'
import { chromium } from './chromium/chromium.ts'
import { createHostPolicy, type AllowedHosts } from './egress/allowed-host.ts'
import { RUN_ERR_BAD_BROWSER } from './errors.ts'
import { Secrets, type BrowserSecret } from './guard/secrets.ts'

/** The actions of a browser; the tool of each is its name after `browser_`. */
const ACTION_NAMES = [
  ...(['open', 'back', 'reload', 'click', 'type', 'press', 'select', 'check', 'hover', 'drag'] as const),
  ...([
    'scroll',
    'wait',
    'find',
    'read',
    'upload',
    'download',
    'tab',
    'dialog',
    'screenshot',
    'extract'
  ] as const)
] as const
export type ActionName = (typeof ACTION_NAMES)[number]

/**
 * How the model sees a page: as an accessibility tree whose elements have refs (`tree`), with a screenshot that shows the refs too
 * (`both`), or as a screenshot alone, on which it acts by coordinates (`pixels`).
 */
export type See = 'tree' | 'both' | 'pixels'

/** Keeps what browsers know between the runs of a session. The engine does not remove what a store of an agent's own has. */
export type KeptStates = Pick<BrowserStateStore, 'load' | 'save' | 'remove'>

/** The options of browser tools, and of a browser agent. Times are milliseconds. */
export interface BrowserOptions {
  /** Where its pages may connect to: a list of hosts, or `public` for the public internet. */
  allow: AllowedHosts
  /** Hosts, each with a port if not 80 or 443, that may have private addresses. */
  privateHosts?: readonly string[]
  /** Default: one Chromium that all agents of the process share. */
  browser?: Browser
  /** Default `tree`. */
  see?: See
  /**
   * How long cookies and local storage last: for the run (default), or for the session, in the app's stores if they encrypt it, else in
   * memory, or in a store of your own.
   */
  state?: 'run' | 'session' | KeptStates
  /** Values that the model can type, as `{{NAME}}`, but never sees. */
  secrets?: Readonly<Record<string, BrowserSecret>>
  files?: {
    /** Whether pages may be given the files of the user's messages; default false. */
    uploads?: boolean
    /** Default: downloads are refused. */
    downloads?: {
      /** Of one download; default 10,000,000. */
      maxBytes?: number
      /** Media types, such as `text/csv`. */
      types: readonly string[]
    }
  }
  /** `steps` keeps a screenshot after each action as a file of the run; default `none`. */
  screenshots?: 'none' | 'steps'
  /** The only actions it has; default: all. */
  actions?: readonly ActionName[]
  /** The schema of what `extract` collects, an object; without it there is no such action. */
  extract?: Schema
  timeout?: {
    /** Of one action on a page; default 5,000. */
    action?: number
    /** Until a page that is opened has loaded; default 30,000. */
    navigation?: number
  }
  limits?: {
    /** Bytes of all connections of a run, in both directions; default 50,000,000. */
    bytes?: number
    /** Default 5. */
    tabs?: number
  }
}

const positive = (description: string) => Type.Integer({ minimum: 1, description })
const hosts = Type.Array(Type.String())

/** The schemas of `BrowserOptions`, without `timeout`. */
export const BROWSER_OPTIONS = {
  allow: Type.Union([Type.Literal('public'), hosts]),
  privateHosts: optional(hosts),
  browser: optional(Type.Object({ open: functionSchema, close: functionSchema })),
  see: optional(Type.Union([Type.Literal('tree'), Type.Literal('both'), Type.Literal('pixels')])),
  state: optional(
    Type.Union([
      Type.Literal('run'),
      Type.Literal('session'),
      Type.Object({ load: functionSchema, save: functionSchema, remove: functionSchema })
    ])
  ),
  secrets: optional(
    Type.Record(
      Type.String(),
      Type.Object(
        { value: Type.String({ minLength: 3 }), hosts: Type.Array(Type.String(), { minItems: 1 }) },
        strict
      )
    )
  ),
  files: optional(
    Type.Object(
      {
        uploads: optional(Type.Boolean()),
        downloads: optional(
          Type.Object(
            {
              maxBytes: optional(positive('Of one download; default 10,000,000')),
              types: Type.Array(Type.String({ pattern: '^[a-z]+/[\\w.+-]+$' }), { minItems: 1 })
            },
            strict
          )
        )
      },
      strict
    )
  ),
  screenshots: optional(Type.Union([Type.Literal('none'), Type.Literal('steps')])),
  actions: optional(Type.Array(Type.Union(ACTION_NAMES.map((name) => Type.Literal(name))), { minItems: 1 })),
  // Schemas have errors of their own.
  extract: optional(Type.Any()),
  limits: optional(
    Type.Object(
      { bytes: optional(positive('Default 50,000,000')), tabs: optional(positive('Default 5')) },
      strict
    )
  )
} satisfies Record<Exclude<keyof BrowserOptions, 'timeout'>, TSchema>

/** The schemas of the times of a browser. */
export const BROWSER_TIMES = {
  action: optional(millisecondsSchema('Of one action on a page; default 5,000')),
  navigation: optional(millisecondsSchema('Until a page that is opened has loaded; default 30,000'))
} satisfies Record<keyof NonNullable<BrowserOptions['timeout']>, TSchema>

export const BrowserOptionsSchema = Type.Object(
  { ...BROWSER_OPTIONS, timeout: optional(Type.Object(BROWSER_TIMES, strict)) },
  strict
)

/** What the runs of an agent with browser tools have in common. */
export interface BrowserPlan {
  /** Chosen when it is first needed. */
  readonly browser: () => Browser
  /** True if the browser can reach only what `allow` names. */
  readonly isGuarded: boolean
  readonly see: See
  readonly actions: ReadonlySet<ActionName>
  readonly secrets: Secrets
  /** Where the state of the session is kept, by the stores of the run; undefined if it is not. */
  readonly statesOf: ((stores: Stores) => KeptStates) | undefined
  readonly extract: Schema | undefined
  readonly uploads: boolean
  readonly downloads: { readonly maxBytes: number; readonly types: readonly string[] } | undefined
  readonly keepsScreenshots: boolean
  readonly desk: Pick<DeskOptions, 'hosts' | 'timeout' | 'limits' | 'maxDownloadBytes'>
}

const MAX_DOWNLOAD_BYTES = 10_000_000

// One process of Chromium serves all agents that bring none of their own.
let shared: Browser | undefined
const sharedBrowser = () => (shared ??= chromium())

// Of runs outside of an engine. Sessions have keys, so that one store serves all agents.
const sharedStates = createInProcessStateStore()

/**
 * Keeps the state of the sessions that were used last, in the memory of the process.
 * @param maxSessions keeps at least this many, and at most twice as many; default 1,000
 */
export function createInProcessStateStore(maxSessions?: number): BrowserStateStore {
  return createInProcessBrowserStateStore(undefined, maxSessions)
}

/** Plans runs from checked options. @throws RUN_ERR_BAD_BROWSER */
export function planBrowser(options: BrowserOptions): BrowserPlan {
  const { allow, privateHosts, browser, see = 'tree', state = 'run', secrets, extract, limits } = options
  const { action = 5_000, navigation = 30_000 } = options.timeout ?? {}
  const { uploads = false, downloads } = options.files ?? {}
  const names = options.actions ?? ACTION_NAMES
  if (options.actions?.includes('extract') && extract === undefined)
    throw new RUN_ERR_BAD_BROWSER('actions: "extract" needs the option extract, a schema')
  const bound = downloads && { maxBytes: MAX_DOWNLOAD_BYTES, ...downloads }
  const has: Partial<Record<ActionName, boolean>> = {
    extract: extract !== undefined,
    upload: uploads,
    download: downloads !== undefined
  }
  return {
    browser: () => browser ?? sharedBrowser(),
    isGuarded: browser?.isGuarded ?? true,
    see,
    actions: new Set(names.filter((name) => has[name] ?? true)),
    secrets: new Secrets(secrets),
    statesOf: statesOf(state),
    extract,
    uploads,
    downloads: bound,
    keepsScreenshots: options.screenshots === 'steps',
    desk: {
      hosts: createHostPolicy(allow, privateHosts),
      timeout: { action, navigation },
      limits: { bytes: 50_000_000, tabs: 5, ...limits },
      ...(bound && { maxDownloadBytes: bound.maxBytes })
    }
  }
}

function statesOf(state: NonNullable<BrowserOptions['state']>): BrowserPlan['statesOf'] {
  if (state === 'run') return undefined
  return state === 'session' ? ({ browserStates = sharedStates }) => browserStates : () => state
}
