import { globSync, readFileSync } from 'node:fs'
import { join, posix, sep } from 'node:path'
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

/** The documents of this service, from the root of the repository. */
const DOCUMENTS = [
  'README.md',
  'docs/*.md',
  'packages/*/README.md',
  'apps/demo/README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md'
]
const WRITTEN_ADDRESS = /\b(?:localhost|127\.0\.0\.1):3000\b/g

/** Reads the documents below a folder and splits them into sections. */
export function loadSections(root: string, patterns: readonly string[] = DOCUMENTS): Section[] {
  const paths = patterns.flatMap((pattern) => globSync(pattern, { cwd: root }).sort())
  return [...new Set(paths)].flatMap((path) =>
    parseSections(path.split(sep).join(posix.sep), readFileSync(join(root, path), 'utf8'))
  )
}

/** Replaces the address in a document's commands with the service's own, so that they work when pasted. */
export function withAddress(text: string, address: string): string {
  return text.replace(WRITTEN_ADDRESS, address)
}
