import { unlessAborted } from '@svc/runtime/loop'
import type { DeskAction } from '../../browser.ts'
import { RUN_ERR_BROWSER_ACTION_FAILED } from '../../errors.ts'
import { Act, explain, saysClosed, type ActingDesk } from './act.ts'
import { check } from './check.ts'
import { click, drag, hover, scroll } from './mouse.ts'
import { back, open, reload } from './navigate.ts'
import { press } from './press.ts'
import { select } from './select.ts'
import { typeText } from './type.ts'
import { upload } from './upload.ts'
import { wait } from './wait.ts'

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
