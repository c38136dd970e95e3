import type { Page } from 'playwright-core'
import { unlessAborted } from '@svc/runtime/loop'
import { withinTime } from '../../deadline.ts'
import { callInPage } from '../../page-session.ts'
import type { PageDocument } from './page-dom.ts'

// Milliseconds without a change after which a page counts as quiet.
const QUIET = 30
// Milliseconds after which a page that never stops changing counts as quiet.
const RESTLESS = 300
// Milliseconds by which the answer of a page may be late.
const LATE = 200

/**
 * Waits until a page neither changes nor scrolls for a moment. Bounded, whatever the page does.
 * `reaction`: milliseconds that the first change may take. @throws the reason of `signal`
 */
export async function untilQuiet(page: Page, signal: AbortSignal, reaction: number): Promise<void> {
  const wait = { reaction, quiet: QUIET, restless: RESTLESS }
  // A page that navigates or closes meanwhile destroys the function that runs in it.
  const quiet = callInPage(page, quietMoment, wait).catch(() => undefined)
  await unlessAborted(signal, () => withinTime(quiet, reaction + RESTLESS + LATE))
}

interface PageGlobals {
  readonly document: PageDocument
  readonly MutationObserver: new (listener: () => void) => {
    observe(target: PageDocument, options: Readonly<Record<string, boolean>>): void
    disconnect(): void
  }
}

// Runs in the page.
function quietMoment(wait: { reaction: number; quiet: number; restless: number }): Promise<void> {
  const { document, MutationObserver } = globalThis as unknown as PageGlobals
  return new Promise((resolve) => {
    const begin = performance.now()
    let changed = 0
    const onChange = () => (changed = performance.now())
    const observer = new MutationObserver(onChange)
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
    // Keys scroll in steps; the event does not bubble.
    document.addEventListener('scroll', onChange, true)
    const check = () => {
      const now = performance.now()
      const quiet = changed === 0 ? begin + Math.max(wait.quiet, wait.reaction) : changed + wait.quiet
      const left = Math.min(quiet, begin + wait.reaction + wait.restless) - now
      // Timers of a page are no more exact than a millisecond.
      if (left > 1) setTimeout(check, left)
      else {
        observer.disconnect()
        document.removeEventListener('scroll', onChange, true)
        resolve()
      }
    }
    check()
  })
}
