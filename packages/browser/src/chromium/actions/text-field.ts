import type { PageElement } from './page-dom.ts'

/** What decides how a text gets into a field. */
export interface TextField {
  /** The type of an input, lower-case; '' for other fields. */
  readonly type: string
  /** True if the browser takes a whole value, e.g. a date, and no keys. */
  readonly isSet: boolean
  /** True for the browser's own fields, false for rich text. */
  readonly isPlain: boolean
  /** True if it shows suggestions while its text changes. */
  readonly suggests: boolean
  readonly maxLength: number | undefined
  /** Why it takes no text now. */
  readonly fault: string | undefined
}

/** Runs in the page. */
export function readTextField(field: PageElement): TextField {
  const type = field.tagName === 'INPUT' ? (field.type ?? '') : ''
  const { maxLength = -1 } = field
  const isOff = field.matches(':disabled') || field.closest('[aria-disabled=true]') !== null
  const isFixed = field.matches('[readonly], [aria-readonly=true]')
  return {
    type,
    isSet: ['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range'].includes(type),
    isPlain: field.tagName === 'INPUT' || field.tagName === 'TEXTAREA',
    suggests:
      field.getAttribute('role') === 'combobox' ||
      /list|both/.test(field.getAttribute('aria-autocomplete') ?? ''),
    maxLength: maxLength >= 0 ? maxLength : undefined,
    fault: isOff ? 'the element is disabled' : isFixed ? 'the element is read-only' : undefined
  }
}

/** Runs in the page: true for an element that takes text itself. */
export function isTextField(element: PageElement): boolean {
  const { tagName, type = '' } = element
  const others = ['checkbox', 'radio', 'file', 'button', 'submit', 'reset', 'image']
  return tagName === 'TEXTAREA' || (tagName === 'INPUT' && !others.includes(type))
}

/** Runs in the page: what takes the text if one is typed into an element. A string says why nothing does. */
export function textFieldOf(element: PageElement): PageElement | string {
  const fields =
    'input:not([type=hidden]), textarea, [contenteditable=""], [contenteditable=true], [contenteditable=plaintext-only]'
  const inner = element.querySelectorAll(fields)
  const label = element.closest('label')
  let field = element
  if (!element.matches('input, textarea, select') && !element.isContentEditable) {
    field = (inner.length === 1 ? inner[0] : (label?.control ?? element))!
  }
  const type = field.tagName === 'INPUT' ? (field.type ?? '') : ''
  if (field.tagName === 'SELECT') return 'it is a drop-down; use the select action'
  if (type === 'checkbox' || type === 'radio') return 'it takes no text; use the check action'
  if (type === 'file') return 'it takes files; use the upload action'
  if (['button', 'submit', 'reset', 'image'].includes(type)) return 'it is a button; use the click action'
  if (type !== '' || field.tagName === 'INPUT' || field.tagName === 'TEXTAREA') return field
  if (field.isContentEditable) return field
  // Neither is clicked to see whether a field gets the focus: a click would send the form, or leave the page.
  const button = element.closest('button, a[href]')
  if (button?.tagName === 'A') return 'it is a link; use the click action'
  return button?.form && button.type === 'submit' ? 'it is a button; use the click action' : ''
}
