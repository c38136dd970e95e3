import type { Dialog, Page } from 'playwright-core'
import type { DeskPlace } from '../browser.ts'

type Opened = PromiseWithResolvers<void>

/** The dialogs of the tabs of a desk. A dialog blocks the scripts of its page until it is answered. */
export class Dialogs {
  readonly #pending = new Map<Page, Dialog>()
  readonly #waiting = new Map<Page, Opened>()

  watch(page: Page): void {
    page.on('dialog', (dialog) => {
      this.#pending.set(page, dialog)
      this.#waiting.get(page)?.resolve()
    })
    page.once('close', () => this.#pending.delete(page))
    page.once('crash', () => this.#pending.delete(page))
  }

  /** The dialog of a page that waits for an answer. */
  of(page: Page): DeskPlace['dialog'] {
    const dialog = this.#pending.get(page)
    if (dialog === undefined) return undefined
    return {
      type: dialog.type() as NonNullable<DeskPlace['dialog']>['type'],
      message: dialog.message().slice(0, MAX_MESSAGE)
    }
  }

  /** Resolves once the page has a dialog. */
  async next(page: Page): Promise<void> {
    if (this.#pending.has(page)) return
    const opened = this.#waiting.get(page) ?? Promise.withResolvers<void>()
    this.#waiting.set(page, opened)
    await opened.promise
    this.#waiting.delete(page)
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
}

const MAX_MESSAGE = 1_000
