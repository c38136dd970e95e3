import { setTimeout as sleep } from 'node:timers/promises'
import { unlessAborted } from '@svc/runtime/loop'
import type { ElementHandle } from 'playwright-core'
import type { DeskAction } from '../../browser.ts'
import { RUN_ERR_BROWSER_ACTION_FAILED } from '../../errors.ts'
import { sessionOf, stopLoading } from '../../page-session.ts'
import { Act, explain, saysClosed, type ActingDesk } from './act.ts'
import { HandleElement, type Found } from './find-element.ts'
import { click, drag, hover, scroll } from './mouse.ts'
import type { PageElement } from './page-dom.ts'
import { checkUrl, navigationError, netErrorCode } from './page-watch.ts'
import { select } from './select.ts'
import { press, typeText } from './type.ts'
import { upload } from './upload.ts'

type Check = Extract<DeskAction, { action: 'check' }>

/** Checks or unchecks a checkbox, a radio button or a switch; by its label where the page hides it behind one. */
async function check(act: Act, { at, checked }: Check): Promise<void> {
  const found = await act.find(at)
  const own = await act.step(() => found.evaluate(readBox))
  if (own.isBox && !own.isHidden) return checkBox(act, found, found, own, checked)
  const handle = await act.findHandle(at)
  const box = ((await act.step(() => handle.evaluateHandle(boxOf))) as ElementHandle).asElement()
  if (box === null) act.fail('it is no checkbox, radio button or switch')
  const state = await act.step(() => box.evaluate(readBox))
  const label = state.isHidden
    ? ((await act.step(() => box.evaluateHandle(labelOf))) as ElementHandle).asElement()
    : null
  return checkBox(act, new HandleElement(box), new HandleElement(label ?? box), state, checked)
}

// `clicked`: the box itself, or its label.
async function checkBox(act: Act, box: Found, clicked: Found, state: Box, checked: boolean): Promise<void> {
  if (state.isDisabled) act.fail('it is disabled')
  if (state.isChecked === checked) return
  if (state.isRadio && !checked) act.fail('a radio button is unchecked by checking another one')
  await act.step(() => clicked.click(act.limits))
  if ((await act.step(() => box.evaluate(readBox))).isChecked !== checked) {
    act.fail(`the page did not let it become ${checked ? 'checked' : 'unchecked'}`)
  }
}

// Runs in the page: the box that an element is, is in, or is the label of.
function boxOf(element: PageElement): PageElement | null {
  const boxes =
    'input[type=checkbox], input[type=radio], [role=checkbox], [role=radio], [role=switch], [role=menuitemcheckbox], [role=menuitemradio]'
  const own = element.closest(boxes)
  if (own !== null) return own
  const control = element.closest('label')?.control ?? null
  if (control?.matches(boxes)) return control
  const inside = element.querySelectorAll(boxes)
  return inside.length === 1 ? inside[0]! : null
}

interface Box {
  /** False for elements around a box. */
  readonly isBox: boolean
  readonly isChecked: boolean
  readonly isRadio: boolean
  readonly isHidden: boolean
  readonly isDisabled: boolean
}

// Runs in the page.
function readBox(box: PageElement & { checked?: boolean; disabled?: boolean }): Box {
  const isNative = box.tagName === 'INPUT'
  const role = isNative ? box.type : box.getAttribute('role')
  const { width, height } = box.getBoundingClientRect()
  return {
    isBox: /^(?:checkbox|radio|switch|menuitemcheckbox|menuitemradio)$/.test(role ?? ''),
    isChecked: isNative ? box.checked === true : box.getAttribute('aria-checked') === 'true',
    isRadio: role === 'radio' || role === 'menuitemradio',
    isHidden:
      !box.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || width < 2 || height < 2,
    isDisabled: box.matches(':disabled') || box.getAttribute('aria-disabled') === 'true'
  }
}

// Runs in the page.
function labelOf(box: PageElement): PageElement | null {
  return box.labels?.[0] ?? null
}

type Open = Extract<DeskAction, { action: 'open' }>

/** Opens a URL. A page that has begun counts as open: it may load more while the tab settles. */
async function open(act: Act, { url, newTab = false }: Open): Promise<void> {
  const checked = checkUrl(url, act.desk.hosts)
  if (newTab) await act.useNewTab()
  await navigate(act, checked)
}

/** Goes back in the history of the tab. */
async function back(act: Act): Promise<void> {
  if (!(await historyOf(act)).hasEarlier) act.fail('there is no earlier page in this tab')
  await act.step(() => act.page.goBack({ waitUntil: 'commit', ...act.limits }))
}

/** Loads the page again. The answer to a form is requested without the form: sending it twice could order twice. */
async function reload(act: Act): Promise<void> {
  const url = act.page.url()
  if ((await historyOf(act)).isFormAnswer) await navigate(act, url)
  else await act.step(() => act.page.reload({ waitUntil: 'commit', ...act.limits }))
}

async function navigate(act: Act, url: string): Promise<void> {
  const { page } = act
  try {
    await act.step(() => page.goto(url, { waitUntil: 'commit', ...act.limits }))
  } catch (err) {
    if (act.signal.aborted) await stopLoading(page)
    const message = err instanceof Error ? err.message : ''
    if (message.includes('Download is starting')) return
    // The page of an earlier failure may come late; a page that leads elsewhere by itself is no failure.
    if (message.includes('interrupted by another navigation to "chrome-error:')) return navigate(act, url)
    if (message.includes('interrupted by another navigation')) return
    const code = netErrorCode(message)
    if (code === 'ERR_ABORTED') act.fail('the server gave no page')
    throw code === undefined ? err : (act.watch.failure ?? navigationError(url, code, act.desk.hosts))
  }
}

interface History {
  /** False on the first page of a tab. */
  readonly hasEarlier: boolean
  readonly isFormAnswer: boolean
}

async function historyOf({ page }: Act): Promise<History> {
  const { currentIndex, entries } = await (await sessionOf(page)).send('Page.getNavigationHistory')
  // A tab begins with an empty page.
  const hasEarlier = entries.slice(0, currentIndex).some(({ url }) => url !== 'about:blank')
  return { hasEarlier, isFormAnswer: entries[currentIndex]?.transitionType === 'form_submit' }
}

type Wait = Extract<DeskAction, { action: 'wait' }>

/** Waits for a text, for its end, or for a time. */
async function wait(act: Act, { text, gone, time }: Wait): Promise<void> {
  const ms = Math.max(0, Math.min(time ?? Infinity, act.desk.timeout.action))
  if (text === undefined && gone === undefined) {
    // That the time is over is the end of the action, and no failure.
    await sleep(ms, undefined, { signal: act.signal }).catch(() => undefined)
    return
  }
  const late = AbortSignal.timeout(ms)
  const signal = AbortSignal.any([act.signal, late])
  try {
    if (text !== undefined) await appears(act, text, signal)
    if (gone !== undefined) await disappears(act, gone, signal)
  } catch (err) {
    if (!late.aborted && !act.signal.aborted) throw err
    const what =
      text === undefined ? `"${gone?.slice(0, 80)}" is still there` : `"${text.slice(0, 80)}" did not appear`
    act.fail(`${what} after ${ms} ms`)
  }
}

async function appears(act: Act, text: string, signal: AbortSignal): Promise<void> {
  const found = new AbortController()
  const limits = { timeout: 0, signal: AbortSignal.any([signal, found.signal]) }
  try {
    // In whichever frame comes first; the waits in the others end with it.
    await Promise.any(seen(act, text).map((element) => element.waitFor({ state: 'visible', ...limits })))
  } finally {
    found.abort()
  }
}

async function disappears(act: Act, text: string, signal: AbortSignal): Promise<void> {
  await Promise.all(
    seen(act, text).map((element) => element.waitFor({ state: 'hidden', timeout: 0, signal }))
  )
}

const seen = ({ page }: Act, text: string) =>
  page.frames().map((frame) => frame.getByText(text).filter({ visible: true }).first())

/** How an action is performed, and which time-out of the desk limits it. */
export interface Performer<A extends DeskAction> {
  readonly limit: 'action' | 'navigation'
  perform(act: Act, action: A): Promise<void>
}

type Performers = {
  readonly [K in DeskAction['action']]: Performer<Extract<DeskAction, { action: K }>>
}

/** Each action of a desk. */
const ACTIONS: Performers = {
  open: { limit: 'navigation', perform: open },
  back: { limit: 'navigation', perform: back },
  reload: { limit: 'navigation', perform: reload },
  click: { limit: 'action', perform: click },
  hover: { limit: 'action', perform: hover },
  type: { limit: 'action', perform: typeText },
  press: { limit: 'action', perform: press },
  select: { limit: 'action', perform: select },
  check: { limit: 'action', perform: check },
  drag: { limit: 'action', perform: drag },
  scroll: { limit: 'action', perform: scroll },
  wait: { limit: 'action', perform: wait },
  upload: { limit: 'action', perform: upload },
  tab: {
    limit: 'action',
    async perform({ desk }, { index, close = false }) {
      await (close ? desk.tabs.close(index) : desk.tabs.select(index))
    }
  },
  dialog: {
    limit: 'action',
    async perform(act, { accept, text }) {
      if (!(await act.step(() => act.desk.dialogs.answer(act.page, accept, text))))
        act.fail('no dialog is open')
    }
  }
}

/**
 * Performs an action in the current tab, and waits until the page has settled.
 * @throws RUN_ERR_BROWSER_HOST_REFUSED, RUN_ERR_BROWSER_STALE_REF, RUN_ERR_BROWSER_ACTION_FAILED, RUN_ERR_BROWSER_TOO_LARGE,
 * the reason of the signal
 */
export async function performAction(
  desk: ActingDesk,
  action: DeskAction,
  signal: AbortSignal
): Promise<void> {
  signal.throwIfAborted()
  const page = desk.tabs.current
  if (page === undefined) throw new RUN_ERR_BROWSER_ACTION_FAILED('no tab is open')
  const { perform, limit } = ACTIONS[action.action] as Performer<DeskAction>
  const ms = desk.timeout[limit]
  const act = new Act(desk, page, AbortSignal.any([signal, AbortSignal.timeout(ms)]))
  try {
    await perform(act, action).catch(async (err: unknown) => {
      // A click has succeeded once the next page is on its way, however long that takes.
      if (signal.aborted || limit === 'navigation') throw err
      if (!act.watch.isNavigating && !(await hasClosedTab(act, action, err, signal))) throw err
    })
    if (action.action !== 'tab') await settle(act, signal)
    if (action.action !== 'tab' && act.page.isClosed() && desk.tabs.current !== undefined)
      desk.notice(`The tab has closed; the current one is ${desk.tabs.all.indexOf(desk.tabs.current)}`)
  } catch (err) {
    signal.throwIfAborted()
    await act.watch.settleFailure(signal)
    throw await explain(err, act, ms)
  } finally {
    act.watch.close()
  }
}

// A pop-up may close itself as soon as it is used: the action has succeeded, if the browser still has another tab.
async function hasClosedTab(
  { page, desk: { tabs } }: Act,
  { action }: DeskAction,
  err: unknown,
  signal: AbortSignal
): Promise<boolean> {
  if (action === 'wait' || !saysClosed(err)) return false
  // The browser answers after it has reported which tabs are gone.
  return (await unlessAborted(signal, () => tabs.isCurrentOpen())) && tabs.current !== page
}

async function settle({ desk, watch, reaction }: Act, signal: AbortSignal): Promise<void> {
  const { action, navigation } = desk.timeout
  const hasLoaded = await watch.settle(signal, { navigation, load: action, reaction })
  if (!hasLoaded) desk.notice('The page is still loading')
  const { status = 200 } = watch
  if (status >= 400) desk.notice(`The server answered with HTTP status ${status}`)
}
