/** A piece of a Markdown document: what stands under one heading. */
export interface Section {
  /** Document and heading as in a link: `docs/runs.md#resume-a-stream`. */
  id: string
  /** Path of the document, from the root of the repository. */
  document: string
  heading: string
  /** The headings above it, the outermost first. */
  parents: string[]
  /** The Markdown below the heading, up to the next one. */
  text: string
}

/** Splits a Markdown document at its headings. Headings with nothing below them are left out. */
export function parseSections(document: string, markdown: string): Section[] {
  const sections: Section[] = []
  const slugs = new Map<string, number>()
  const above: { level: number; heading: string }[] = []
  let open: Section = { id: document, document, heading: document, parents: [], text: '' }
  let fence: string | undefined

  const close = () => {
    const text = open.text.trim()
    if (text !== '') sections.push({ ...open, text })
  }
  for (const line of markdown.split(/\r?\n/)) {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]
    if (mark !== undefined && fence === undefined) fence = mark
    else if (mark !== undefined && fence !== undefined && mark.startsWith(fence)) fence = undefined
    const title = fence === undefined ? /^(#{1,6})\s+(.+?)\s*#*\s*$/.exec(line) : null
    if (title === null) {
      open.text += `${line}\n`
      continue
    }
    close()
    const level = title[1]!.length
    const heading = plainHeading(title[2]!)
    while ((above.at(-1)?.level ?? 0) >= level) above.pop()
    open = {
      id: `${document}#${slugOf(heading, slugs)}`,
      document,
      heading,
      parents: above.map((each) => each.heading),
      text: ''
    }
    above.push({ level, heading })
  }
  close()
  return sections
}

function plainHeading(heading: string): string {
  return heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[*`]/g, '')
}

// As GitHub makes them, so that an id works as a link.
function slugOf(heading: string, slugs: Map<string, number>): string {
  const slug = heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
  const count = slugs.get(slug) ?? 0
  slugs.set(slug, count + 1)
  return count === 0 ? slug : `${slug}-${count}`
}
