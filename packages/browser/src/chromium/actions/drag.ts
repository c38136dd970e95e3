import type { DeskAction, Spot } from '../../desk-action.ts'
import type { Act } from './act.ts'
import { requirePoint } from './find-element.ts'

type Drag = Extract<DeskAction, { action: 'drag' }>

// Pages that follow the pointer look at the way it takes, not only at where it ends.
const STEPS = 8

/** Drags from one spot to another with the mouse, which works for HTML drag and drop and for pages that follow the pointer. */
export async function drag(act: Act, { from, to }: Drag): Promise<void> {
  const { mouse } = act.page
  const start = await act.step(() => pointOf(act, from))
  await act.step(() => mouse.move(start.x, start.y))
  await act.step(() => mouse.down())
  try {
    // Only now: scrolling to the target may move the source.
    const end = await pointOf(act, to)
    await act.step(() => mouse.move(end.x, end.y, { steps: STEPS }))
  } finally {
    // Also when the action ends early: a button that stays down would drag along whatever comes next.
    await mouse.up()
  }
}

async function pointOf(act: Act, spot: Spot): Promise<{ x: number; y: number }> {
  if (!('ref' in spot)) {
    requirePoint(act.page, spot)
    return spot
  }
  const element = await act.findHandle(spot)
  await act.step(() => element.scrollIntoViewIfNeeded(act.limits))
  const box = await act.step(() => element.boundingBox())
  if (box === null) act.fail('the element is hidden')
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
}
