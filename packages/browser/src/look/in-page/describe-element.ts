import type { PageElement, PageWindow } from './dom.ts'

/** Runs in a page. Says of an element what Playwright's snapshot leaves out: states, and facts by their names. */
export function describeElement(
  win: PageWindow,
  element: PageElement
): { states?: string[]; facts?: Record<string, string>; hint?: string } {
  const TYPED = new Set(['text', 'checkbox', 'radio', 'submit', 'button', 'reset', 'hidden', 'textarea'])
  const states: string[] = []
  const facts: Record<string, string> = {}
  const tag = element.tagName.toUpperCase()
  const isField = tag === 'INPUT' || tag === 'TEXTAREA' || tag === 'SELECT'
  if (isField) {
    const { type = 'text' } = element
    if (element.required === true) states.push('required')
    if (element.readOnly === true) states.push('readonly')
    if (element.matches(':user-invalid')) states.push('invalid')
    if (tag === 'INPUT' && !TYPED.has(type)) facts['type'] = type
    if (type === 'file') {
      const names = Array.from(element.files ?? [], ({ name }) => name)
      if (names.length > 0) facts['files'] = names.join(', ')
    }
    for (const limit of ['min', 'max', 'step', 'accept']) {
      const value = element.getAttribute(limit)
      if (value !== null && value !== '') facts[limit] = value
    }
    if (element.hasAttribute('multiple')) states.push('multiple')
  } else {
    if (element.getAttribute('aria-required') === 'true') states.push('required')
    if (element.getAttribute('aria-readonly') === 'true') states.push('readonly')
  }
  if (element.getAttribute('aria-expanded') === 'false') states.push('collapsed')
  if (tag === 'DETAILS' && element.open !== true) states.push('collapsed')
  if (element.getAttribute('draggable') === 'true') states.push('draggable')
  if (element.hasAttribute('download')) states.push('download')
  for (const role of ['aria-valuenow', 'aria-valuetext'] as const) {
    const value = element.getAttribute(role)
    if (value !== null) facts[role.slice('aria-'.length)] = value
  }
  const { scrollHeight, clientHeight, scrollTop } = element
  if (
    tag !== 'HTML' &&
    tag !== 'BODY' &&
    tag !== 'TEXTAREA' &&
    clientHeight > 20 &&
    scrollHeight > clientHeight + 20
  ) {
    const { overflowY } = win.getComputedStyle(element)
    if (overflowY === 'auto' || overflowY === 'scroll') {
      const below = (scrollHeight - clientHeight - scrollTop) / clientHeight
      facts['scroll'] = `${(scrollTop / clientHeight).toFixed(1)} heights above, ${below.toFixed(1)} below`
    }
  }
  // The class of an icon often says what a button without a text does.
  const icon = element.querySelector('svg,i,img') ?? element
  const hints = [icon, element].flatMap((from) =>
    ['data-icon', 'class', 'id'].map((key) => from.getAttribute(key) ?? '')
  )
  const hint = hints.find((text) => text !== '')
  return {
    ...(hint !== undefined && { hint: hint.slice(0, 60) }),
    ...(states.length > 0 && { states }),
    ...(Object.keys(facts).length > 0 && { facts })
  }
}
