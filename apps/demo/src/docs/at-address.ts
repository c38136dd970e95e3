import type { Section } from './parse-sections.ts'

const WRITTEN = /\b(?:localhost|127\.0\.0\.1):3000\b/g

/** Sections whose commands call the given address, so that they can be pasted. */
export function atAddress(sections: readonly Section[], address: string): Section[] {
  return sections.map((section) => ({ ...section, text: section.text.replace(WRITTEN, address) }))
}
