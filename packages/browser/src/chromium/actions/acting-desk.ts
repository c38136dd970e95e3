import type { Page } from 'playwright-core'
import type { HostPolicy } from '../../browser.ts'

/** What actions need of a desk. It aborts the signal of an action once a dialog blocks the page. */
export interface ActingDesk {
  readonly tabs: {
    /** The tab that actions apply to. */
    readonly current: Page | undefined
    readonly all: readonly Page[]
    /** True if there is a current tab, and the browser still knows it. */
    isCurrentOpen(): Promise<boolean>
    /** Opens an empty tab, which becomes the current one. @throws RUN_ERR_BROWSER_ACTION_FAILED at the limit of tabs */
    open(): Promise<Page>
    /** Makes a tab the current one. @throws RUN_ERR_BROWSER_ACTION_FAILED if it does not exist */
    select(index: number): Promise<void>
    /** Closes a tab; an empty one takes the place of the last. @throws RUN_ERR_BROWSER_ACTION_FAILED if it does not exist */
    close(index: number): Promise<void>
  }
  readonly dialogs: {
    /** Answers the dialog of a page; false if it has none. */
    answer(page: Page, accept: boolean, text?: string): Promise<boolean>
  }
  readonly hosts: HostPolicy
  /** Milliseconds: of one action, and until a page that is opened has loaded. */
  readonly timeout: { readonly action: number; readonly navigation: number }
  /** Adds a notice for the model to the outcome of the action. */
  notice(text: string): void
}
