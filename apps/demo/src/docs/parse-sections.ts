import { lexer } from 'marked'

/** The Markdown under one heading of a document. */
export interface Section {
  /** Document and heading, as in a link: `docs/runs.md#resume-a-stream`. */
  id: string
  /** Path of the document from the root of the repository. */
  document: string
  heading: string
  /** The headings above it, outermost first. */
  parents: string[]
  /** The Markdown below the heading, up to the next one. */
  text: string
}

/** Splits a Markdown document at its headings. Headings with nothing below them are left out. */
export function parseSections(document: string, markdown: string): Section[] {
  const sections: Section[] = [{ id: document, document, heading: document, parents: [], text: '' }]
  const slugs = new Map<string, number>()
  let above: { depth: number; heading: string }[] = []
  for (const token of lexer(markdown)) {
    if (token.type !== 'heading') {
      sections.at(-1)!.text += token.raw
      continue
    }
    const depth = token['depth'] as number
    const heading = plainHeading(token['text'] as string)
    above = above.filter((each) => each.depth < depth)
    const parents = above.map((each) => each.heading)
    sections.push({ id: `${document}#${slugOf(heading, slugs)}`, document, heading, parents, text: '' })
    above.push({ depth, heading })
  }
  return sections
    .map((section) => ({ ...section, text: section.text.trim() }))
    .filter(({ text }) => text !== '')
}

function plainHeading(heading: string): string {
  return heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[*`]/g, '')
}

// GitHub's slugs, so that an id works as a link.
function slugOf(heading: string, slugs: Map<string, number>): string {
  const slug = heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
  const count = slugs.get(slug) ?? 0
  slugs.set(slug, count + 1)
  return count === 0 ? slug : `${slug}-${count}`
}
