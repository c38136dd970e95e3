import type { DeskAction } from '../../desk-action.ts'
import { unlessAborted } from '@svc/runtime/loop'
import { RUN_ERR_BROWSER_ACTION_FAILED } from '../../errors.ts'
import { Act } from './act.ts'
import type { ActingDesk } from './acting-desk.ts'
import { ACTIONS, type Performer } from './action-table.ts'
import { explain, saysClosed } from './explain.ts'

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
