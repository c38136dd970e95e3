import type { ElementHandle } from 'playwright-core'
import type { DeskAction } from '../../desk-action.ts'
import type { Act } from './act.ts'
import { chooseFromList, listLabels, quote } from './choose-from-list.ts'
import { type Found, HandleElement } from './found.ts'
import type { PageElement } from './page-dom.ts'

type Select = Extract<DeskAction, { action: 'select' }>

/** Selects the options of a drop-down: of the browser's own by value or label, of one that the page draws by label. */
export async function select(act: Act, { at, values }: Select): Promise<void> {
  const found = await act.find(at)
  if (await act.step(() => found.evaluate(isList))) return selectIn(act, found, values)
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
function isList(element: PageElement): boolean {
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
