import type { BrowserContext, Page } from 'playwright-core'
import { RUN_ERR_BROWSER_STALE_REF } from '../errors.ts'
import { formsOf } from '../guard/secrets.ts'
import { findClickables } from './in-page/clickable.ts'
import { describeElement } from './in-page/describe-element.ts'
import { createHiddenText } from './in-page/hidden-text.ts'
import { installLens, type ElementFacts, type LensOptions, type LensReport } from './in-page/lens.ts'
import { findListening, type Listening } from './in-page/listening.ts'
import { createMask, MASK } from './in-page/mask.ts'
import { numberRefs } from './in-page/number-refs.ts'
import { pruneFar } from './in-page/prune.ts'
import { evaluateIn, openWorlds, type World, type Worlds } from './page-worlds.ts'

// Pages choose how many there are, and how long they are.
const MAX_VALUES = 100
const MAX_LENGTH = 1_000

const values = new WeakMap<BrowserContext, Set<string>>()

/** Remembers the values of secret fields: a page may put one into its title, and a form into the URL of the next page. */
function rememberPasswords(context: BrowserContext, found: readonly string[]): void {
  const known = values.get(context) ?? new Set()
  values.set(context, known)
  for (const value of found) if (known.size < MAX_VALUES && value.length <= MAX_LENGTH) known.add(value)
}

/** Masks the remembered values in a text, also where they are encoded. */
export function coverPasswords(context: BrowserContext, text: string): string {
  let covered = text
  for (const value of values.get(context) ?? [])
    for (const form of formsOf(value)) covered = covered.replaceAll(form, MASK)
  return covered
}

/** Masks the remembered values in a URL, behind its host: that decides what is allowed. */
export function coverPasswordsInUrl(context: BrowserContext, url: string): string {
  const { origin = '' } = URL.parse(url) ?? {}
  const start = url.startsWith(origin) ? origin.length : 0
  return url.slice(0, start) + coverPasswords(context, url.slice(start))
}

// Ids begin above every coordinate that a page can have, and each frame has a range of its own.
const FIRST_ID = 1e12
const IDS_PER_FRAME = 1e8
// Elements of a frame that are asked for their listeners.
const MAX_ASKED = 20_000

// Numbers are not used twice in a context: a ref of another tab or an earlier page names nothing.
const lastRefs = new WeakMap<BrowserContext, number>()
/** Where a world has its `LensState`. */
const STATE = '(globalThis.__look ??= {})'
const PARTS = { createHiddenText, createMask, describeElement, findClickables, numberRefs, pruneFar }
const PARTS_SOURCE = Object.entries(PARTS)
  .map(([name, part]) => `${name}: ${String(part)}`)
  .join(',\n')
const INSTALLATION = `(${String(installLens)})(globalThis, ${STATE}, { ${PARTS_SOURCE} }, '${MASK}')`
const installed = new WeakMap<World, Promise<void>>()

/** What the lenses of a page reported, joined by the ids in a snapshot. */
export interface LensReports {
  /** The facts of the element that `x` of its box names; undefined if no lens saw it. */
  find(id: number): ElementFacts | undefined
  /** The report of the frame that an element is in. */
  frameOf(id: number): LensReport | undefined
}

/** Runs work while a lens is on each frame of a page (`in-page/lens.ts`); the page is left as it was. */
export async function throughLens<T>(
  page: Page,
  maxElements: number,
  work: () => Promise<T>
): Promise<{ result: T; reports: LensReports }> {
  const worlds = await openWorlds(page)
  const context = page.context()
  const lastRef = lastRefs.get(context) ?? 0
  let ended: Promise<(LensReport | undefined)[]> | undefined
  const end = (): Promise<(LensReport | undefined)[]> =>
    (ended ??= Promise.all(
      worlds.list.map((world) =>
        evaluateIn<LensReport | undefined>(world, `${STATE}.end?.()`).catch(() => undefined)
      )
    ))
  try {
    await Promise.all(
      worlds.list.map((world, index) =>
        putOn(world, { base: FIRST_ID + index * IDS_PER_FRAME, maxElements, lastRef })
      )
    )
    const result = await work()
    const reports = await end()
    lastRefs.set(context, Math.max(lastRef, ...reports.map((report) => report?.lastRef ?? 0)))
    for (const report of reports) rememberPasswords(context, report?.passwords ?? [])
    return { result, reports: joinReports(reports) }
  } finally {
    closeAfter(end(), worlds)
  }
}

// A page that hangs takes its lens off when it answers again; nothing waits for that.
function closeAfter(ended: Promise<unknown>, worlds: Worlds): void {
  void ended.then(() => worlds.close())
}

async function putOn(world: World, place: Omit<LensOptions, 'listening'>): Promise<void> {
  const [listening] = await Promise.all([askListening(world), install(world)])
  await evaluateIn(world, `${STATE}.begin(${JSON.stringify({ ...place, listening })})`)
}

function install(world: World): Promise<void> {
  let installing = installed.get(world)
  if (installing === undefined) installed.set(world, (installing = evaluateIn(world, INSTALLATION)))
  return installing
}

async function askListening({ session, mainContextId }: World): Promise<Listening> {
  const { result } = await session.send('Runtime.evaluate', {
    uniqueContextId: mainContextId,
    expression: `(${String(findListening)})(globalThis, getEventListeners, ${MAX_ASKED})`,
    includeCommandLineAPI: true,
    returnByValue: true,
    silent: true
  })
  // The page's own world: it may answer anything.
  const { count, positions } = (result.value ?? {}) as { count?: unknown; positions?: unknown }
  if (!Number.isInteger(count) || !Array.isArray(positions)) return { count: 0, positions: [] }
  const valid = positions.slice(0, MAX_ASKED).filter((position) => Number.isInteger(position))
  return { count: Number(count), positions: valid }
}

function joinReports(reports: readonly (LensReport | undefined)[]): LensReports {
  const frameOf = (id: number): LensReport | undefined =>
    id < FIRST_ID ? undefined : reports[Math.floor((id - FIRST_ID) / IDS_PER_FRAME)]
  return { frameOf, find: (id) => frameOf(id)?.elements[(id - FIRST_ID) % IDS_PER_FRAME] }
}

/**
 * Calls a function with the element of a ref, in the isolated world of its document: scripts of the page can change the element, but not
 * what the function reads of it. The argument and the result must be JSON.
 * @throws RUN_ERR_BROWSER_STALE_REF if no element of the page has the ref
 */
export async function inspect<E, A, R>(
  page: Page,
  ref: string,
  read: (element: E, argument: A) => R,
  argument?: A
): Promise<R> {
  const call = `(${String(read)})(element, ${JSON.stringify(argument)})`
  const expression = `((element) => element && { value: ${call} })(${STATE}.find?.(${JSON.stringify(ref)}))`
  const worlds = await openWorlds(page)
  try {
    const answers = await Promise.allSettled(
      worlds.list.map((world) => evaluateIn<{ value: R } | undefined>(world, expression))
    )
    // A ref names an element of one document only; others may be replaced meanwhile.
    const found = answers.find((answer) => answer.status === 'fulfilled' && answer.value !== undefined)
    if (found?.status === 'fulfilled') return found.value!.value
    const failed = answers.find((answer) => answer.status === 'rejected')
    throw failed?.reason ?? new RUN_ERR_BROWSER_STALE_REF(ref)
  } finally {
    void worlds.close()
  }
}
