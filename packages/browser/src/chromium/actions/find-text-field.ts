import type { ElementHandle } from 'playwright-core'
import type { Spot } from '../../desk-action.ts'
import type { Act } from './act.ts'
import { type Found, HandleElement } from './found.ts'
import type { PageDocument, PageElement } from './page-dom.ts'
import { isTextField, textFieldOf } from './text-field.ts'

/**
 * The field that a text is typed into; without a spot the one that has the focus, undefined if none has.
 * @throws RUN_ERR_BROWSER_ACTION_FAILED if there is no text field at the spot
 */
export async function findTextField(act: Act, at: Spot | undefined): Promise<Found | undefined> {
  if (at === undefined) return focusedField(act)
  const found = await act.find(at)
  if (await act.step(() => found.evaluate(isTextField))) return found
  const field = await toField(act, await act.findHandle(at))
  if (field !== undefined) return field
  // Pages draw fields of their own, which put the focus into a real one when they are clicked.
  await act.step(() => ('ref' in at ? found.click(act.limits) : act.page.mouse.click(at.x, at.y)))
  const focused = await focusedField(act)
  if (focused === undefined && 'ref' in at) act.fail('it is no text field')
  return focused
}

async function toField(act: Act, element: ElementHandle): Promise<Found | undefined> {
  const result = await act.step(() => element.evaluateHandle(textFieldOf))
  const field = result.asElement()
  if (field !== null) return new HandleElement(field as ElementHandle)
  const reason = await act.step(() => result.jsonValue())
  if (typeof reason === 'string' && reason !== '') act.fail(reason)
  return undefined
}

async function focusedField(act: Act): Promise<Found | undefined> {
  let frame = act.page.mainFrame()
  for (;;) {
    const active = (await act.step(() => frame.evaluateHandle(activeElement))).asElement()
    if (active === null) return undefined
    const inner = await act.step(() => active.contentFrame())
    if (inner === null) return toField(act, active as ElementHandle)
    frame = inner
  }
}

// Runs in the page: what has the focus, also in open shadow roots.
function activeElement(): PageElement | null {
  const { document } = globalThis as unknown as { document: PageDocument }
  let active = document.activeElement
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement
  return active === document.body ? null : active
}
