import { Type } from '@sinclair/typebox'
import { defineTool, type Tool } from '@svc/runtime'
import type { SectionIndex } from '../docs/section-index.ts'

const EXCERPT = 100

/** Searches the documents of this service. */
export function createSearchDocs(index: SectionIndex): Tool {
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
