/* oxlint-disable unicorn/consistent-function-scoping -- runs in a page, where nothing outside of the function exists */
import type { PageElement, PageNode, PageWindow } from './dom.ts'

/** Stands in a look for the value of a field that holds a secret. */
export const MASK = '[password]'

/** What a world remembers between looks, until its document is replaced. */
export interface MaskMemory {
  /** Fields that once hid their value. */
  readonly fields: WeakSet<PageElement>
  /** The values that they had: a page may repeat one elsewhere, or in a new field. */
  readonly values: Set<string>
}

/** Runs in a page. Returns what replaces the values of fields that hold secrets. */
export function createMask(
  win: PageWindow,
  memory: MaskMemory,
  mask: string,
  valueOf: (field: PageElement) => string
): { hides(field: PageElement): boolean; cover(text: string): string; hasSecrets: boolean } {
  const SECRET = /(?:^|\s)(?:current-password|new-password|one-time-code|cc-[a-z-]+)(?:\s|$)/i
  // Shorter ones would cover words of the page that have nothing to do with the field.
  const MIN_LENGTH = 5
  const remember = (field: PageElement): void => {
    memory.fields.add(field)
    const value = valueOf(field)
    if (value.length >= MIN_LENGTH) memory.values.add(value)
  }
  const isSecret = (field: PageElement): boolean =>
    field.type === 'password' ||
    SECRET.test(field.getAttribute('autocomplete') ?? '') ||
    (win.getComputedStyle(field)['webkitTextSecurity'] ?? 'none') !== 'none'
  const hides = (field: PageElement): boolean => {
    const isHidden = memory.fields.has(field) || memory.values.has(valueOf(field)) || isSecret(field)
    if (isHidden) remember(field)
    return isHidden
  }
  let hasSecrets = false
  const visit = (root: PageNode): void => {
    for (const field of (root as PageElement).querySelectorAll('input,textarea'))
      if (hides(field)) hasSecrets = true
    for (const element of (root as PageElement).querySelectorAll('*')) {
      if (element.shadowRoot !== null) visit(element.shadowRoot)
    }
  }
  visit(win.document as unknown as PageNode)
  return {
    hides,
    hasSecrets: hasSecrets || memory.values.size > 0,
    cover: (text) => {
      let covered = text
      for (const value of memory.values)
        if (covered.includes(value)) covered = covered.replaceAll(value, mask)
      return covered
    }
  }
}
