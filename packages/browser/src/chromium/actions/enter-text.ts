import type { Act } from './act.ts'
import type { Found } from './found.ts'
import type { PageElement } from './page-dom.ts'

// Characters that are typed key by key; more are inserted at once, all but the last.
const KEYED = 40

/** Types into what has the focus. Pages that listen to keys get at least the last one. */
export async function enterText(act: Act, text: string): Promise<void> {
  const { keyboard } = act.page
  // Enter would submit a form, and Tab leave the field.
  const isKeyed = text.length <= KEYED && !/[\n\r\t]/.test(text)
  const last = isKeyed ? text : lastKey(text)
  const first = text.slice(0, text.length - last.length)
  if (first !== '') await act.step(() => keyboard.insertText(first))
  if (last !== '') await act.step(() => keyboard.type(last))
}

/** Enters a long text, for which Chromium's input would take seconds: sets it as scripts do, all but the last character. */
export async function setText(act: Act, field: Found, text: string, append: boolean): Promise<void> {
  const last = lastKey(text)
  const set = { text: text.slice(0, text.length - last.length), append }
  await act.step(() => field.evaluate(setValueOf, set))
  if (last !== '') await act.step(() => act.page.keyboard.type(last))
}

// One character that a key could have typed; '' if the text ends with another.
const lastKey = (text: string) => /[\x21-\x7E]$/.exec(text)?.[0] ?? ''

interface FieldGlobals {
  readonly InputEvent: new (type: string, options: Readonly<Record<string, unknown>>) => object
}

// Runs in the page. The setter of the prototype, since frameworks replace that of the element.
function setValueOf(field: PageElement, { text, append }: { text: string; append: boolean }): void {
  const { InputEvent } = globalThis as unknown as FieldGlobals
  const { value: before = '', maxLength = -1 } = field
  const whole = append ? before + text : text
  const prototype = Object.getPrototypeOf(field) as PageElement
  const { set } = Object.getOwnPropertyDescriptor(prototype, 'value')!
  set!.call(field, maxLength < 0 ? whole : whole.slice(0, maxLength))
  field.dispatchEvent(new InputEvent('input', { bubbles: true, composed: true, inputType: 'insertText' }))
}
