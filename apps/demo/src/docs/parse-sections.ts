import GithubSlugger from 'github-slugger'
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

/** Splits a Markdown document at its headings. Pictures, and headings with nothing below them, are left out. */
export function parseSections(document: string, markdown: string): Section[] {
  const sections: Section[] = [{ id: document, document, heading: document, parents: [], text: '' }]
  const slugger = new GithubSlugger()
  const path: string[] = []
  for (const token of lexer(markdown)) {
    if (token.type === 'heading') {
      const { depth, text } = token as unknown as { depth: number; text: string }
      const heading = text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[*`]/g, '')
      path.length = depth - 1
      const id = `${document}#${slugger.slug(heading)}`
      sections.push({ id, document, heading, parents: path.filter(Boolean), text: '' })
      path.push(heading)
    } else if (!token.raw.includes('<picture>')) sections.at(-1)!.text += token.raw
  }
  return sections
    .map((section) => ({ ...section, text: section.text.trim() }))
    .filter(({ text }) => text !== '')
}
