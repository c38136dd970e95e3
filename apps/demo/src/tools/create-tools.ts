import type { Tool } from '@svc/runtime'
import type { Section } from '../docs/parse-sections.ts'
import { createSectionIndex } from '../docs/section-index.ts'
import { calculate } from './calculate.ts'
import { currentTime } from './current-time.ts'
import { createReadSection } from './read-section.ts'
import { createSearchDocs } from './search-docs.ts'

/** The tools of the assistant on the given documents; `address` replaces the one in their commands. */
export function createTools(sections: readonly Section[], address?: string): Tool[] {
  const index = createSectionIndex(sections)
  return [createSearchDocs(index), createReadSection(index, address), calculate, currentTime]
}
