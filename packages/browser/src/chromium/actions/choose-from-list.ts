import type { ElementHandle, Frame, Locator } from 'playwright-core'
import type { Act } from './act.ts'
import type { PageElement } from './page-dom.ts'
import { cutText } from '../../look/clean-text.ts'

// Milliseconds until a list that a click opens shows its options.
const OPENING = 1_000

/** Selects options of a drop-down that the page draws itself: opens it, and clicks them by their names. */
export async function chooseFromList(
  act: Act,
  dropDown: ElementHandle,
  values: readonly string[]
): Promise<void> {
  const { isDropDown, isOpen } = await act.step(() => dropDown.evaluate(readDropDown))
  if (!isDropDown) act.fail('it is no drop-down; click it, or click the option')
  const frame = await act.step(() => dropDown.ownerFrame())
  if (frame === null) act.fail('its page is gone')
  if (!isOpen) await act.step(() => dropDown.click(act.limits))
  for (const value of values) await chooseOption(act, frame, value)
}

/** At most 20 labels of options, for the text of an error. */
export function listLabels(labels: readonly string[]): string {
  if (labels.length === 0) return 'it has no options'
  const more = labels.length > MAX_LABELS ? `, and ${labels.length - MAX_LABELS} more` : ''
  return `its options are ${labels.slice(0, MAX_LABELS).map(quote).join(', ')}${more}`
}

const MAX_LABELS = 20

/** A label in the text of an error. */
export const quote = (label: string) => JSON.stringify(cutText(label, 60))

async function chooseOption(act: Act, frame: Frame, value: string): Promise<void> {
  const options = frame.getByRole('option').filter({ visible: true })
  const option = frame.getByRole('option', { name: value, exact: true }).filter({ visible: true }).first()
  if (!(await appears(act, option))) {
    const labels = await act.step(() => options.allInnerTexts())
    await act.step(() => act.page.keyboard.press('Escape'))
    act.fail(`there is no option ${quote(value)}; ${listLabels(labels)}`)
  }
  await act.step(() => option.click(act.limits))
}

async function appears(act: Act, option: Locator): Promise<boolean> {
  try {
    await act.step(() => option.waitFor({ state: 'visible', timeout: OPENING, signal: act.signal }))
    return true
  } catch (err) {
    if (err instanceof Error && err.name === 'TimeoutError' && !act.signal.aborted) return false
    throw err
  }
}

// Runs in the page.
function readDropDown(element: PageElement) {
  const around = element.closest('[role=combobox], [role=listbox], [aria-haspopup]')
  const isList = around?.getAttribute('role') === 'listbox'
  return { isDropDown: around !== null, isOpen: isList || around?.getAttribute('aria-expanded') === 'true' }
}
