import type { BrowserContext, Page } from 'playwright-core'
import { findClickables } from './in-page/clickable.ts'
import { describeElement } from './in-page/describe-element.ts'
import { createHiddenText } from './in-page/hidden-text.ts'
import { type ElementFacts, installLens, type LensOptions, type LensReport } from './in-page/lens.ts'
import { findListening, type Listening } from './in-page/listening.ts'
import { createMask, MASK } from './in-page/mask.ts'
import { numberRefs } from './in-page/number-refs.ts'
import { pruneFar } from './in-page/prune.ts'
import { rememberPasswords } from './shown-passwords.ts'
import { evaluateIn, openWorlds, type World, type Worlds } from './page-worlds.ts'

// Ids begin above every coordinate that a page can have, and each frame has a range of its own.
const FIRST_ID = 1e12
const IDS_PER_FRAME = 1e8
// Elements of a frame that are asked for their listeners.
const MAX_ASKED = 20_000

// Numbers are not used twice in a context: a ref of another tab or an earlier page names nothing.
const lastRefs = new WeakMap<BrowserContext, number>()
/** Where a world has its `LensState`. */
export const STATE = '(globalThis.__look ??= {})'
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
