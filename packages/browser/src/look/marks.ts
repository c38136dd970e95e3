import type { Page } from 'playwright-core'
import { RUN_ERR_BROWSER_ACTION_FAILED } from '../errors.ts'
import { drawMarks, type Mark } from './in-page/draw-marks.ts'
import { evaluateIn, openWorlds } from './page-worlds.ts'
import { walk } from './seen-node.ts'
import type { Snapshot } from './snapshot.ts'

const ACTED_ON = new Set([
  ...['button', 'checkbox', 'clickable', 'combobox', 'gridcell', 'link', 'listbox', 'menuitem'],
  ...['menuitemcheckbox', 'menuitemradio', 'option', 'radio', 'searchbox', 'slider', 'spinbutton', 'switch'],
  ...['tab', 'textbox', 'treeitem']
])
const MAX_MARKS = 300
const STATE = '(globalThis.__look ??= {})'

/** Runs work while the refs of what can be acted on are drawn upon the viewport of a page. */
export async function withMarks<T>(page: Page, snapshot: Snapshot, work: () => Promise<T>): Promise<T> {
  const marks = JSON.stringify(findMarks(snapshot))
  const worlds = await openWorlds(page)
  const { frameTree } = (await worlds.list[0]?.session.send('Page.getFrameTree')) ?? {}
  const main = worlds.list.find(({ frameId }) => frameId === frameTree?.frame.id)
  if (main === undefined)
    throw new RUN_ERR_BROWSER_ACTION_FAILED('the page is navigating; wait, then look again')
  try {
    await evaluateIn(main, `(${String(drawMarks)})(globalThis, ${STATE}, ${marks})`)
    return await work()
  } finally {
    void evaluateIn(main, `${STATE}.removeMarks?.()`)
      .catch(() => {})
      .then(() => worlds.close())
  }
}

function findMarks({ roots, viewport }: Snapshot): Mark[] {
  const marks: Mark[] = []
  for (const { ref, box, role, states } of walk(roots)) {
    if (ref === undefined || box === undefined || marks.length >= MAX_MARKS) continue
    if (!ACTED_ON.has(role) && !states.includes('clickable') && !states.includes('draggable')) continue
    const { x, y, width, height } = box
    const isInside = x < viewport.width && y < viewport.height && x + width > 0 && y + height > 0
    if (isInside) marks.push({ label: ref, x, y, width, height })
  }
  return marks
}
