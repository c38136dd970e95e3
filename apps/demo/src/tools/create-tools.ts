import { Type } from '@sinclair/typebox'
import { defineTool, type Tool } from '@svc/runtime'
import { createSectionIndex, type SectionIndex } from '../docs/section-index.ts'
import { withAddress, type Section } from '../docs/sections.ts'
import { calculate } from './calculate.ts'
import { currentTime } from './current-time.ts'

const EXCERPT = 100

/** The tools of the assistant on the given documents; `address` replaces the one in their commands. */
export function createTools(sections: readonly Section[], address?: string): Tool[] {
  const index = createSectionIndex(sections)
  return [createSearchDocs(index), createReadSection(index, address), calculate, currentTime]
}

/** Searches the documents of this service. */
function createSearchDocs(index: SectionIndex): Tool {
  return defineTool({
    name: 'search_docs',
    description:
      'Full-text search in the documents of this service. Gives the best sections, each with the share of the query that it covers, and the words that occur in no document. Read a section with read_section.',
    input: Type.Object(
      {
        query: Type.String({ minLength: 1, maxLength: 500, description: 'The words that matter' }),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, description: 'Default 5' }))
      },
      { additionalProperties: false }
    ),
    execute({ query, limit = 5 }) {
      const { found, unknown } = index.search(query, limit)
      const results = found.map(({ section, coverage }) => ({
        section: section.id,
        document: section.document,
        heading: section.heading,
        coverage: Math.round(coverage * 100) / 100,
        excerpt: section.text.slice(0, EXCERPT)
      }))
      return { results, unknown }
    }
  })
}

/** Reads one section of the documents. */
function createReadSection(index: SectionIndex, address?: string): Tool {
  return defineTool({
    name: 'read_section',
    description: 'Reads a section of the documents of this service, in Markdown.',
    input: Type.Object(
      {
        section: Type.String({
          minLength: 1,
          maxLength: 300,
          description: 'As search_docs gives it, for example docs/runs.md#resume-a-stream'
        })
      },
      { additionalProperties: false }
    ),
    execute({ section: id }) {
      const section = index.get(id)
      if (section === undefined) return { section: id, error: 'there is no such section; search for one' }
      const { document, heading, parents } = section
      const text = address === undefined ? section.text : withAddress(section.text, address)
      return { section: id, document, heading, parents, text }
    }
  })
}
