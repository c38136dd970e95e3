import type { BrowserState } from '@svc/contract'

/** Opens desks: the port behind browser agents and browser tools. */
export interface Browser {
  /** True if the browser can reach only what the policy of a desk allows. */
  readonly isGuarded: boolean
  /**
   * Opens a desk with one empty tab; waits for a free place, if there is none.
   * @throws RUN_ERR_BROWSER_MISSING, RUN_ERR_BROWSER_FAILED, RUN_ERR_BROWSER_BUSY, the reason of the signal
   */
  open(options: DeskOptions): Promise<Desk>
  /** Closes all desks and ends the process; a later `open` starts another. */
  close(): Promise<void>
}

/** The options of a desk. Times are milliseconds. */
export interface DeskOptions {
  /** Where its pages may connect to. */
  readonly hosts: HostPolicy
  /** Ends the wait for a place. Open desks are ended by `close`. */
  readonly signal: AbortSignal
  readonly timeout: {
    /** Of one action on a page. */
    readonly action: number
    /** Until a page that is opened has loaded. */
    readonly navigation: number
  }
  readonly limits: {
    /** Bytes of all its connections, in both directions. */
    readonly bytes: number
    readonly tabs: number
  }
  /** Cookies and storage it begins with. */
  readonly state?: StorageState | undefined
  /** Bytes of one download; undefined refuses downloads. */
  readonly maxDownloadBytes?: number | undefined
  /** Reports a connection that was refused. */
  onBlocked?(refusal: Refusal): void
}

/** Where the pages of a desk may connect to. */
export interface HostPolicy {
  /** True if the host and port are allowed by name; the addresses of a host are checked on connect. */
  allows(hostname: string, port: number): boolean
  /** True if the host may have a private address. */
  mayBePrivate(hostname: string, port: number): boolean
}

/** A connection that the policy of a desk refused. */
export interface Refusal {
  readonly host: string
  readonly reason: 'host' | 'port' | 'address' | 'bytes' | 'connections' | 'malformed'
}

/** Cookies and local storage of a desk. */
export type StorageState = BrowserState

/** An isolated browser context with its tabs. Its methods are called one at a time. */
export interface Desk {
  /** URL and title of the current tab, and what else is open. Cheap; never waits for a page. */
  place(): Promise<DeskPlace>
  /** The current tab as text, and as an image if wanted. @throws RUN_ERR_BROWSER_CRASHED, RUN_ERR_BROWSER_STALE_REF */
  look(options?: LookOptions): Promise<Look>
  /** The facts that decide what an action on an element is. @throws RUN_ERR_BROWSER_STALE_REF */
  target(spot: Spot): Promise<Target>
  /**
   * Performs an action in the current tab, and waits until the page has settled.
   * @throws RUN_ERR_BROWSER_HOST_REFUSED, RUN_ERR_BROWSER_STALE_REF, RUN_ERR_BROWSER_ACTION_FAILED, RUN_ERR_BROWSER_CRASHED,
   * RUN_ERR_BROWSER_TOO_LARGE, RUN_ERR_BROWSER_FAILED if the browser cannot be guarded, the reason of the signal
   */
  act(action: DeskAction, signal: AbortSignal): Promise<Acted>
  /** The current tab as a JPEG, with passwords hidden. */
  screenshot(options?: ScreenshotOptions): Promise<Screenshot>
  /** Cookies and local storage as they are now. */
  state(): Promise<StorageState>
  /** Closes its tabs and connections at once, and removes its temporary files; safe to call twice. */
  close(): Promise<void>
}

/** Where a desk is. */
export interface DeskPlace {
  readonly url: string
  readonly title: string
  readonly tabs: readonly { readonly index: number; readonly url: string; readonly isCurrent: boolean }[]
  /** A dialog that waits for an answer; the next action other than `dialog` dismisses it. */
  readonly dialog?: {
    readonly type: 'alert' | 'confirm' | 'prompt' | 'beforeunload'
    readonly message: string
  }
}

/** How to look. */
export interface LookOptions {
  /** Only this element and what is in it. */
  readonly within?: string
  /** Characters of the text at most; default 24,000. What is in the viewport comes first. */
  readonly maxChars?: number
}

/** A page as the model sees it. Values of password fields are masked. */
export interface Look extends DeskPlace {
  /** The accessibility tree, one element a line, with refs of what can be acted on. */
  readonly text: string
  /** Lines left out because of `maxChars`. */
  readonly omitted: number
  /** Equal for equal pages, whatever their refs; not cryptographic. */
  readonly hash: string
}

/** How to take a screenshot. */
export interface ScreenshotOptions {
  /** Draws the refs of what can be acted on upon the image. */
  readonly marks?: boolean
  /** Refs of elements to cover, besides password fields. */
  readonly hide?: readonly string[]
}

/** An image of the viewport. */
export interface Screenshot {
  readonly data: Buffer
  readonly mimeType: 'image/jpeg'
  /** CSS pixels. */
  readonly width: number
  readonly height: number
}

/** What is at a spot. */
export interface Target {
  /** The URL of the frame it is in. */
  readonly frameUrl: string
  /** Lower-case, e.g. `input`. */
  readonly tag: string
  readonly role: string
  readonly name: string
  /** The type of an input or a button, lower-case. */
  readonly type?: string
  /** True if the element submits the form. */
  readonly submits?: boolean
  /** The form it belongs to. */
  readonly form?: { readonly method: 'get' | 'post' | 'dialog'; readonly action: string }
  /** The URL of the link it is, or is in. */
  readonly href?: string
  readonly isDownload?: boolean
}

/** What an action led to, besides the new state of the page. */
export interface Acted {
  readonly downloads: readonly Download[]
  /** For the model: a tab opened, a dialog was dismissed, a download was refused. */
  readonly notices: readonly string[]
}

/** A file that a page offered, complete and within the limit. */
export interface Download {
  readonly filename: string
  readonly url: string
  /** Bytes. */
  readonly size: number
  /** Reads it; it is removed with the desk. */
  content(): AsyncIterable<Uint8Array>
}

/** An element that a look named, or a point of the viewport in CSS pixels. */
export type Spot = { readonly ref: string } | { readonly x: number; readonly y: number }

/** An action in the current tab of a desk. */
export type DeskAction =
  | { readonly action: 'open'; readonly url: string; readonly newTab?: boolean }
  | { readonly action: 'back' | 'reload' }
  | {
      readonly action: 'click'
      readonly at: Spot
      readonly button?: 'left' | 'middle' | 'right'
      readonly count?: 1 | 2 | 3
    }
  | { readonly action: 'hover'; readonly at: Spot }
  | {
      readonly action: 'type'
      /** Default: what has the focus. */
      readonly at?: Spot
      readonly text: string
      /** Adds to the text of the field instead of replacing it. */
      readonly append?: boolean
      /** Presses Enter afterwards. */
      readonly submit?: boolean
    }
  /** A key as Playwright names it, e.g. `Enter` or `Control+A`. */
  | { readonly action: 'press'; readonly key: string; readonly at?: Spot }
  /** Values or labels of the options. */
  | { readonly action: 'select'; readonly at: Spot; readonly values: readonly string[] }
  | { readonly action: 'check'; readonly at: Spot; readonly checked: boolean }
  | { readonly action: 'drag'; readonly from: Spot; readonly to: Spot }
  | {
      readonly action: 'scroll'
      /** What to scroll; default: the page. */
      readonly at?: Spot
      readonly direction: 'up' | 'down' | 'left' | 'right'
      /** Viewports; default 1. */
      readonly pages?: number
    }
  | {
      readonly action: 'wait'
      /** Until this text is on the page. */
      readonly text?: string
      /** Until this text is gone. */
      readonly gone?: string
      /** Milliseconds; default and upper bound: the time-out of an action. */
      readonly time?: number
    }
  | { readonly action: 'upload'; readonly at: Spot; readonly files: readonly UploadedFile[] }
  | { readonly action: 'tab'; readonly index: number; readonly close?: boolean }
  | { readonly action: 'dialog'; readonly accept: boolean; readonly text?: string }

/** A file for a file field. */
export interface UploadedFile {
  readonly name: string
  readonly mimeType: string
  readonly data: Uint8Array
}

/** What `withinTime` resolves with when the time is over. */
export const LATE: unique symbol = Symbol('late')

/** Settles like `work`, or resolves with `LATE` after `ms` milliseconds. */
export async function withinTime<T>(work: Promise<T>, ms: number): Promise<T | typeof LATE> {
  const { promise: late, resolve } = Promise.withResolvers<typeof LATE>()
  const timer = setTimeout(resolve, ms, LATE)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
