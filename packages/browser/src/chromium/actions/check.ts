import type { ElementHandle } from 'playwright-core'
import type { DeskAction } from '../../browser.ts'
import type { Act } from './act.ts'
import { type Found, HandleElement } from './find-element.ts'
import type { PageElement } from './page-dom.ts'

type Check = Extract<DeskAction, { action: 'check' }>

/** Checks or unchecks a checkbox, a radio button or a switch; by its label where the page hides it behind one. */
export async function check(act: Act, { at, checked }: Check): Promise<void> {
  const found = await act.find(at)
  const own = await act.step(() => found.evaluate(readBox))
  if (own.isBox && !own.isHidden) return checkBox(act, found, found, own, checked)
  const handle = await act.findHandle(at)
  const box = ((await act.step(() => handle.evaluateHandle(boxOf))) as ElementHandle).asElement()
  if (box === null) act.fail('it is no checkbox, radio button or switch')
  const state = await act.step(() => box.evaluate(readBox))
  const label = state.isHidden
    ? ((await act.step(() => box.evaluateHandle(labelOf))) as ElementHandle).asElement()
    : null
  return checkBox(act, new HandleElement(box), new HandleElement(label ?? box), state, checked)
}

// `clicked`: the box itself, or its label.
async function checkBox(act: Act, box: Found, clicked: Found, state: Box, checked: boolean): Promise<void> {
  if (state.isDisabled) act.fail('it is disabled')
  if (state.isChecked === checked) return
  if (state.isRadio && !checked) act.fail('a radio button is unchecked by checking another one')
  await act.step(() => clicked.click(act.limits))
  if ((await act.step(() => box.evaluate(readBox))).isChecked !== checked) {
    act.fail(`the page did not let it become ${checked ? 'checked' : 'unchecked'}`)
  }
}

// Runs in the page: the box that an element is, is in, or is the label of.
function boxOf(element: PageElement): PageElement | null {
  const boxes =
    'input[type=checkbox], input[type=radio], [role=checkbox], [role=radio], [role=switch], [role=menuitemcheckbox], [role=menuitemradio]'
  const own = element.closest(boxes)
  if (own !== null) return own
  const control = element.closest('label')?.control ?? null
  if (control?.matches(boxes)) return control
  const inside = element.querySelectorAll(boxes)
  return inside.length === 1 ? inside[0]! : null
}

interface Box {
  /** False for elements around a box. */
  readonly isBox: boolean
  readonly isChecked: boolean
  readonly isRadio: boolean
  readonly isHidden: boolean
  readonly isDisabled: boolean
}

// Runs in the page.
function readBox(box: PageElement & { checked?: boolean; disabled?: boolean }): Box {
  const isNative = box.tagName === 'INPUT'
  const role = isNative ? box.type : box.getAttribute('role')
  const { width, height } = box.getBoundingClientRect()
  return {
    isBox: /^(?:checkbox|radio|switch|menuitemcheckbox|menuitemradio)$/.test(role ?? ''),
    isChecked: isNative ? box.checked === true : box.getAttribute('aria-checked') === 'true',
    isRadio: role === 'radio' || role === 'menuitemradio',
    isHidden:
      !box.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || width < 2 || height < 2,
    isDisabled: box.matches(':disabled') || box.getAttribute('aria-disabled') === 'true'
  }
}

// Runs in the page.
function labelOf(box: PageElement): PageElement | null {
  return box.labels?.[0] ?? null
}
