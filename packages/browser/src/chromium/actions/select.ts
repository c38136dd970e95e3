import type { ElementHandle, Frame, Locator } from 'playwright-core'
import type { DeskAction } from '../../browser.ts'
import { cutText } from '../../look/to-lines.ts'
import type { Act } from './act.ts'
import { HandleElement, type Found } from './find-element.ts'
import type { PageElement } from './page-dom.ts'

// Milliseconds until a list that a click opens shows its options.
const OPENING = 1_000

/** Selects options of a drop-down that the page draws itself: opens it, and clicks them by their names. */
async function chooseFromList(act: Act, dropDown: ElementHandle, values: readonly string[]): Promise<void> {
  const { isDropDown, isOpen } = await act.step(() => dropDown.evaluate(readDropDown))
  if (!isDropDown) act.fail('it is no drop-down; click it, or click the option')
  const frame = await act.step(() => dropDown.ownerFrame())
  if (frame === null) act.fail('its page is gone')
  if (!isOpen) await act.step(() => dropDown.click(act.limits))
  for (const value of values) await chooseOption(act, frame, value)
}

/** At most 20 labels of options, for the text of an error. */
function listLabels(labels: readonly string[]): string {
  if (labels.length === 0) return 'it has no options'
  const more = labels.length > MAX_LABELS ? `, and ${labels.length - MAX_LABELS} more` : ''
  return `its options are ${labels.slice(0, MAX_LABELS).map(quote).join(', ')}${more}`
}

const MAX_LABELS = 20

/** A label in the text of an error. */
const quote = (label: string) => JSON.stringify(cutText(label, 60))

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

type Select = Extract<DeskAction, { action: 'select' }>

/** Selects the options of a drop-down: of the browser's own by value or label, of one that the page draws by label. */
export async function select(act: Act, { at, values }: Select): Promise<void> {
  const found = await act.find(at)
  if (await act.step(() => found.evaluate(isListElement))) return selectIn(act, found, values)
  const handle = await act.findHandle(at)
  const list = ((await act.step(() => handle.evaluateHandle(listOf))) as ElementHandle).asElement()
  if (list === null) return chooseFromList(act, handle, values)
  return selectIn(act, new HandleElement(list), values)
}

async function selectIn(act: Act, list: Found, values: readonly string[]): Promise<void> {
  const { isMultiple, indexes, missing, disabled, labels } = await act.step(() =>
    list.evaluate(findOptions, values)
  )
  if (missing !== undefined) act.fail(`there is no option ${quote(missing)}; ${listLabels(labels)}`)
  if (disabled !== undefined) act.fail(`the option ${quote(disabled)} is disabled`)
  if (values.length !== 1 && !isMultiple) act.fail('this list takes exactly one option')
  await act.step(() => list.selectOptions(indexes, act.limits))
}

// Runs in the page.
function isListElement(element: PageElement): boolean {
  return element.tagName === 'SELECT'
}

// Runs in the page: the list that an element is, is an option of, or is the label of.
function listOf(element: PageElement): PageElement | null {
  const own = element.closest('select')
  if (own !== null) return own
  const control = element.closest('label')?.control ?? null
  return control?.tagName === 'SELECT' ? control : null
}

// Runs in the page: options by value, by label, or by label in another case.
function findOptions(list: PageElement, wanted: readonly string[]) {
  const spaces = /\s+/g
  const plain = (text: string) => text.replace(spaces, ' ').trim()
  const options = Array.from(list.options ?? [])
  const labels = options.map((option) => plain(option.label))
  let missing: string | undefined
  let disabled: string | undefined
  const indexes = wanted.map((value) => {
    const label = plain(value)
    let index = options.findIndex((option, at) => option.value === value || labels[at] === label)
    if (index < 0) index = labels.findIndex((each) => each.toLowerCase() === label.toLowerCase())
    if (index < 0) missing ??= value
    else if (options[index]!.disabled || options[index]!.closest('optgroup:disabled')) disabled ??= value
    return index
  })
  return { isMultiple: list.multiple === true, indexes, missing, disabled, labels }
}
