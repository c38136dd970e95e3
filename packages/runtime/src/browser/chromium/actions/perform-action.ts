import type { DeskAction } from '../../desk-action.ts'
import { RUN_ERR_BROWSER_ACTION_FAILED } from '../../../errors.ts'
import { Act } from './act.ts'
import type { ActingDesk } from './acting-desk.ts'
import { ACTIONS, type Performer } from './action-table.ts'
import { explain } from './explain.ts'

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
    await perform(act, action).catch((err: unknown) => {
      // A click has succeeded once the next page is on its way, however long that takes.
      if (signal.aborted || limit === 'navigation' || !act.watch.isNavigating) throw err
    })
    if (action.action !== 'tab') await settle(act, signal)
  } catch (err) {
    signal.throwIfAborted()
    await act.watch.settleFailure(signal)
    throw await explain(err, act, ms)
  } finally {
    act.watch.close()
  }
}

async function settle({ desk, watch, reaction }: Act, signal: AbortSignal): Promise<void> {
  const { action, navigation } = desk.timeout
  const hasLoaded = await watch.settle(signal, { navigation, load: action, reaction })
  if (!hasLoaded) desk.notice('The page is still loading')
  const { status = 200 } = watch
  if (status >= 400) desk.notice(`The server answered with HTTP status ${status}`)
}
