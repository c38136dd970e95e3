import { RUN_ERR_BROWSER_ACTION_FAILED, RUN_ERR_BROWSER_STALE_REF } from '../../errors.ts'
import type { DeskAction, Spot } from '../desk-action.ts'
import type { ActionScope } from './action-scope.ts'

/** Performs the simplest actions. @throws RUN_ERR_BROWSER_STALE_REF, RUN_ERR_BROWSER_ACTION_FAILED */
export async function performAction(
  { tabs, dialogs, timeout: bounds }: ActionScope,
  action: DeskAction,
  signal: AbortSignal
): Promise<void> {
  const page = tabs.current!
  const options = { timeout: bounds.action, signal }
  const at = async (spot: Spot) => {
    if (!('ref' in spot)) throw new RUN_ERR_BROWSER_ACTION_FAILED('points are not known')
    const element = page.getByRef(spot.ref)
    if ((await element.count()) === 0) throw new RUN_ERR_BROWSER_STALE_REF(spot.ref)
    return element
  }
  switch (action.action) {
    case 'open': {
      const target = action.newTab ? await tabs.open() : page
      await target.goto(action.url, { timeout: bounds.navigation, signal })
      return
    }
    case 'click':
      return (await at(action.at)).click(options)
    case 'type':
      return (await at(action.at!)).fill(action.text, options)
    case 'tab':
      return action.close ? tabs.close(action.index) : tabs.select(action.index)
    case 'dialog':
      await dialogs.answer(page, action.accept, action.text)
      return
    default:
      throw new RUN_ERR_BROWSER_ACTION_FAILED(`${action.action} is not known`)
  }
}
