import { isTellable } from '@svc/contract'
import {
  RUN_ERR_BROWSER_ACTION_FAILED,
  RUN_ERR_BROWSER_CRASHED,
  RUN_ERR_BROWSER_STALE_REF
} from '../../errors.ts'
import type { Spot } from '../../desk-action.ts'
import { LATE, withinTime } from '../../deadline.ts'
import type { Act } from './act.ts'
import type { Found } from './found.ts'
import type { PageElement } from './page-dom.ts'

// Milliseconds in which a page says what is in the way.
const ANSWER = 500

/** The error of an action for the model: short, and without what Playwright logs. `ms` is the time-out of the action. */
export async function explain(err: unknown, { signal, subject }: Act, ms: number): Promise<unknown> {
  if (isTellable(err)) return err
  const message = err instanceof Error ? err.message : ''
  if (/crashed/i.test(message)) return new RUN_ERR_BROWSER_CRASHED()
  if (/not attached|not connected/i.test(message)) return new RUN_ERR_BROWSER_STALE_REF(nameOf(subject?.spot))
  if (/context was destroyed|Frame was detached|uniqueContextId not found|cannot find context/i.test(message))
    return failure('the page changed meanwhile; look again')
  if (saysClosed(err)) return failure('the tab was closed')
  if (!signal.aborted) return failure('the browser could not do this here')
  const obstacle = subject === undefined ? undefined : await ask(subject.element)
  if (obstacle === DETACHED) return new RUN_ERR_BROWSER_STALE_REF(nameOf(subject?.spot))
  return failure(obstacle ?? `the page did not respond within ${ms} ms`)
}

/** True for the error of a call that the end of its page has interrupted. */
export const saysClosed = (err: unknown): boolean =>
  err instanceof Error && /has been closed/i.test(err.message)

const DETACHED = 'detached'

const failure = (reason: string) => new RUN_ERR_BROWSER_ACTION_FAILED(reason)

const nameOf = (spot: Spot | undefined) => {
  if (spot === undefined) return ''
  return 'ref' in spot ? spot.ref : `at ${spot.x},${spot.y}`
}

// Undefined if the page is too busy to answer.
async function ask(element: Found): Promise<string | undefined> {
  const asked = element
    .evaluate(obstacleOf)
    .catch((err: unknown) => (err instanceof RUN_ERR_BROWSER_STALE_REF ? DETACHED : undefined))
  const answer = await withinTime(asked, ANSWER)
  return answer === LATE ? undefined : answer
}

// Runs in the page: why an element cannot be acted on.
function obstacleOf(element: PageElement): string {
  if (!element.isConnected) return 'detached'
  if (element.tagName === 'OPTION') return 'it is an option; use the select action on its list'
  const { width, height, x, y } = element.getBoundingClientRect()
  if (!element.checkVisibility({ visibilityProperty: true }) || width === 0 || height === 0)
    return 'the element is hidden'
  if (element.matches(':disabled') || element.closest('[aria-disabled=true]') !== null)
    return 'the element is disabled'
  if (element.matches('[readonly], [aria-readonly=true]')) return 'the element is read-only'
  if (element.closest('[inert]') !== null) return 'the element is inert, as a dialog is open perhaps'
  const root = element.getRootNode()
  const top = root.elementFromPoint(x + width / 2, y + height / 2)
  if (top === null) return 'the element is outside of the viewport, and cannot be scrolled into it'
  if (element.contains(top) || top.contains(element)) return 'the element moves, or does not react'
  const role = top.closest('[role]')?.getAttribute('role') ?? top.tagName.toLowerCase()
  const name = (top.innerText ?? '').replace(/\s+/g, ' ').trim()
  const start = name.length > 40 ? `${name.slice(0, 39)}…` : name
  return `the element is covered by another one: ${role.slice(0, 20)}${name === '' ? '' : ` ${JSON.stringify(start)}`}`
}
