import { defined } from '@svc/contract'
import type { Page } from 'playwright-core'
import { RUN_ERR_BROWSER_ACTION_FAILED, RUN_ERR_BROWSER_CRASHED } from '../errors.ts'
import { cleanText, type Box, type SeenNode } from './to-lines.ts'
import type { LensReport } from './in-page/lens.ts'
import { throughLens, type LensReports } from './page-lens.ts'

/** The accessibility tree of a page, frames included, and where it is scrolled to. */
export interface Snapshot extends Pick<LensReport, 'viewport' | 'above' | 'below' | 'pruned'> {
  readonly roots: readonly SeenNode[]
}

// A page that navigates meanwhile is looked at again.
const ATTEMPTS = 3

/**
 * Takes the accessibility tree of a page, as people see it.
 * @throws RUN_ERR_BROWSER_ACTION_FAILED if the page navigates again and again
 */
export async function takeSnapshot(
  page: Page,
  { timeout, signal }: LookBounds,
  maxElements: number
): Promise<Snapshot> {
  const options = { mode: 'ai', boxes: true, timeout, ...(signal && { signal }) } as const
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const seen = await throughLens(page, maxElements, () => page.ariaSnapshotJSON(options)).catch(
      (error: unknown) => {
        if (/context|Inspected target navigated/i.test(String(error))) return undefined
        throw error
      }
    )
    if (seen === undefined) continue
    // Refs are read from the JSON, never from text: a page can name an element `[ref=e999]`.
    const json = seen.result as unknown as RawNode[]
    const frame = json.map((raw) => raw.box && seen.reports.frameOf(raw.box.x)).find(Boolean)
    if (frame === undefined && json.length > 0) continue
    const {
      viewport = page.viewportSize() ?? { width: 0, height: 0 },
      above = 0,
      below = 0,
      pruned = 0
    } = frame ?? {}
    return {
      roots: json.map((raw) => toSeenNode(raw, seen.reports, { x: 0, y: 0 })),
      viewport,
      above,
      below,
      pruned
    }
  }
  throw new RUN_ERR_BROWSER_ACTION_FAILED('the page keeps navigating; wait, then look again')
}

/** A node of `ariaSnapshotJSON`. */
interface RawNode {
  role: string
  name?: string
  text?: string
  ref?: string
  children?: (RawNode | string)[]
  box?: Box
  checked?: boolean | 'mixed'
  disabled?: boolean
  expanded?: boolean
  active?: boolean
  invalid?: boolean | string
  level?: number
  pressed?: boolean | 'mixed'
  selected?: boolean
  url?: string
  placeholder?: string
}

const STATES = [
  'checked',
  'disabled',
  'expanded',
  'active',
  'invalid',
  'level',
  'pressed',
  'selected'
] as const
// Names are short; what is longer is text in disguise.
const MAX_NAME = 300
const MAX_FACT = 300
const HINTED = new Set(['clickable', 'button', 'link'])

function toSeenNode(raw: RawNode, reports: LensReports, origin: { x: number; y: number }): SeenNode {
  const { role, name, text, ref, url, placeholder, children = [] } = raw
  if (role === 'text') return { role, text: cleanText(text ?? ''), states: [], facts: {}, children: [] }
  const seen = raw.box && reports.find(raw.box.x)
  if (seen === undefined) {
    // A document that began after the lens was put on: nothing in it is masked.
    return {
      role,
      ...(ref !== undefined && { ref }),
      text: '(still loading)',
      states: [],
      facts: {},
      children: []
    }
  }
  const [x, y, width, height] = seen.box
  const box = { x: x + origin.x, y: y + origin.y, width, height }
  const seenRole = seen.isLent === true ? 'clickable' : role
  const isNameless = (name ?? '') === '' && (text ?? '') === '' && children.length === 0
  const isFrame = role === 'iframe'
  const isTiny = isFrame && (width <= 1 || height <= 1)
  const facts = Object.entries({
    ...defined({ url, placeholder }),
    ...seen.facts,
    ...(isNameless && HINTED.has(seenRole) && seen.hint !== undefined && { class: seen.hint })
  })
  const states = STATES.flatMap((state) => {
    const value = raw[state]
    if (value === undefined || value === false) return []
    // The body has the focus when nothing else has.
    if (state === 'active' && role === 'generic') return []
    return value === true ? [state] : [`${state}=${value}`]
  })
  return {
    role: seenRole,
    ...(name !== undefined && { name: cleanText(name, MAX_NAME) }),
    ...(text !== undefined && !isTiny && { text: cleanText(text) }),
    ...(ref !== undefined && { ref }),
    ...(seen.isMasked === true && { isMasked: true }),
    box: width > 0 && height > 0 ? box : undefined,
    states: [
      ...new Set([...states, ...(seen.states ?? []), ...(seen.isClickable === true ? ['clickable'] : [])])
    ],
    facts: Object.fromEntries(facts.map(([key, value]) => [key, cleanText(value, MAX_FACT)])),
    children: isTiny
      ? []
      : children.map((child) =>
          typeof child === 'string' ? cleanText(child) : toSeenNode(child, reports, isFrame ? box : origin)
        )
  }
}

/** How long a look or a screenshot may take. */
export interface LookBounds {
  /** Milliseconds until it fails with RUN_ERR_BROWSER_ACTION_FAILED. */
  readonly timeout: number
  /** Ends it with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
}

const CRASHED = /Target crashed|Page crashed|has been closed|Target closed|Session closed|disconnected/i

/**
 * Awaits work on a page.
 * @throws RUN_ERR_BROWSER_ACTION_FAILED if it takes too long, RUN_ERR_BROWSER_CRASHED if the page or browser is gone
 */
export async function bounded<T>(
  page: Page,
  what: string,
  work: () => Promise<T>,
  { timeout, signal }: LookBounds
): Promise<T> {
  signal?.throwIfAborted()
  let timer: NodeJS.Timeout | undefined
  let onAbort: (() => void) | undefined
  let onCrash: (() => void) | undefined
  const ended = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new RUN_ERR_BROWSER_ACTION_FAILED(`the page did not answer within ${timeout} ms: ${what}`))
    }, timeout)
    onAbort = () => reject(signal!.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    onCrash = () => reject(new RUN_ERR_BROWSER_CRASHED())
    page.once('crash', onCrash).once('close', onCrash)
  })
  try {
    return await Promise.race([work(), ended])
  } catch (error) {
    if (error instanceof Error && !('statusCode' in error) && CRASHED.test(error.message)) {
      throw new RUN_ERR_BROWSER_CRASHED({ cause: error })
    }
    throw error
  } finally {
    clearTimeout(timer)
    if (onCrash !== undefined) page.off('crash', onCrash).off('close', onCrash)
    if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort)
  }
}
