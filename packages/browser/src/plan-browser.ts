import type { BrowserStateStore, Stores } from '@svc/contract'
import { createInProcessBrowserStateStore } from '@svc/registry/engine'
import { RUN_ERR_BAD_BROWSER } from './errors.ts'
import type { Schema } from '@svc/runtime'
import {
  ACTION_NAMES,
  type ActionName,
  type BrowserOptions,
  type KeptStates,
  type See
} from './browser-options.ts'
import type { Browser, DeskOptions } from './browser.ts'
import { chromium } from './chromium/chromium.ts'
import { createHostPolicy } from './egress/allowed-host.ts'
import { Secrets } from './guard/secrets.ts'

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
