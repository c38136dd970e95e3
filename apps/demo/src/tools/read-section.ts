import { Type } from '@sinclair/typebox'
import { defineTool, type Tool } from '@svc/runtime'
import { withAddress } from '../docs/load-sections.ts'
import type { SectionIndex } from '../docs/section-index.ts'

/** Reads one section of the documents. */
export function createReadSection(index: SectionIndex, address?: string): Tool {
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
