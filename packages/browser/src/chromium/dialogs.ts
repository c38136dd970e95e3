import type { BrowserContext, Dialog, Page } from 'playwright-core'
import type { DeskPlace } from '../browser.ts'
import { cutText } from '../look/clean-text.ts'

/** The dialogs of the tabs of a desk. A dialog blocks the scripts of its page until it is answered. */
export class Dialogs {
  readonly #pending = new Map<Page, Dialog>()
  // Of pages that are not known yet.
  readonly #early: Dialog[] = []
  #opened = Promise.withResolvers<Page>()

  constructor(context: BrowserContext) {
    // Not page by page: Playwright dismisses the dialogs of a new page until it knows of a listener.
    context.on('page', (page) => this.#watch(page))
    context.on('dialog', (dialog) => {
      const page = dialog.page()
      if (page === null) this.#early.push(dialog)
      else this.#open(page, dialog)
    })
  }

  /** The dialog of a page that waits for an answer. */
  of(page: Page): DeskPlace['dialog'] {
    const dialog = this.#pending.get(page)
    if (dialog === undefined) return undefined
    return {
      type: dialog.type() as NonNullable<DeskPlace['dialog']>['type'],
      message: cutText(dialog.message(), MAX_MESSAGE)
    }
  }

  /** Resolves with the page once a dialog opens. */
  next(): Promise<Page> {
    return this.#opened.promise
  }

  /** Answers the dialog of a page; false if it has none. */
  async answer(page: Page, accept: boolean, text?: string): Promise<boolean> {
    const dialog = this.#pending.get(page)
    if (dialog === undefined) return false
    this.#pending.delete(page)
    // The page may be gone by now, and its dialog with it.
    await (accept ? dialog.accept(text) : dialog.dismiss()).catch(() => undefined)
    return true
  }

  #watch(page: Page): void {
    const early = this.#early.shift()
    if (early !== undefined) this.#open(page, early)
    page.once('close', () => this.#pending.delete(page))
    page.once('crash', () => this.#pending.delete(page))
  }

  #open(page: Page, dialog: Dialog): void {
    this.#pending.set(page, dialog)
    this.#opened.resolve(page)
    this.#opened = Promise.withResolvers()
  }
}

const MAX_MESSAGE = 1_000
