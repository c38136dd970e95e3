import type { BrowserContext } from 'playwright-core'
import { formsOf } from '../guard/secret-forms.ts'
import { MASK } from './in-page/mask.ts'

// Pages choose how many there are, and how long they are.
const MAX_VALUES = 100
const MAX_LENGTH = 1_000

const values = new WeakMap<BrowserContext, Set<string>>()

/** Remembers the values of secret fields: a page may put one into its title, and a form into the URL of the next page. */
export function rememberPasswords(context: BrowserContext, found: readonly string[]): void {
  const known = values.get(context) ?? new Set()
  values.set(context, known)
  for (const value of found) if (known.size < MAX_VALUES && value.length <= MAX_LENGTH) known.add(value)
}

/** Masks the remembered values in a text, also where they are encoded. */
export function coverPasswords(context: BrowserContext, text: string): string {
  let covered = text
  for (const value of values.get(context) ?? [])
    for (const form of formsOf(value)) covered = covered.replaceAll(form, MASK)
  return covered
}

/** Masks the remembered values in a URL, behind its host: that decides what is allowed. */
export function coverPasswordsInUrl(context: BrowserContext, url: string): string {
  const { origin = '' } = URL.parse(url) ?? {}
  const start = url.startsWith(origin) ? origin.length : 0
  return url.slice(0, start) + coverPasswords(context, url.slice(start))
}
