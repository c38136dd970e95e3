import type { DeskAction } from '../../desk-action.ts'
import type { Act } from './act.ts'
import { requirePoint } from './find-element.ts'

type Click = Extract<DeskAction, { action: 'click' }>
type Hover = Extract<DeskAction, { action: 'hover' }>

/** Clicks once an element is visible, enabled, at rest and not covered; at a point, whatever is there. */
export async function click(act: Act, { at, button = 'left', count = 1 }: Click): Promise<void> {
  const options = { button, clickCount: count }
  act.watch.onFileChooser(() => act.desk.notice('The page asks for files: use the upload action'))
  if ('ref' in at) {
    const element = await act.find(at)
    await act.step(() => element.click({ ...options, ...act.limits }))
  } else {
    requirePoint(act.page, at)
    await act.step(() => act.page.mouse.click(at.x, at.y, options))
  }
}

/** Moves the pointer to an element, and leaves it there. */
export async function hover(act: Act, { at }: Hover): Promise<void> {
  if ('ref' in at) {
    const element = await act.find(at)
    await act.step(() => element.hover(act.limits))
  } else {
    requirePoint(act.page, at)
    await act.step(() => act.page.mouse.move(at.x, at.y))
  }
}
