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
