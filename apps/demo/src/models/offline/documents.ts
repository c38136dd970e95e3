import { stemsOf } from '../../docs/terms.ts'
import { outcomeOf, type Call, type Outcome, type Question } from './rule-model.ts'

/** A result of the tool `search_docs`. */
interface Hit {
  section: string
  document: string
  heading: string
  coverage: number
}

/** Share of a question that a section must cover to count as an answer. */
const ENOUGH = 0.55
/** Of an error or an option: `RUN_ERR_TERMINAL`, `maxSteps`. */
const IDENTIFIER = /\b(?:[A-Z]+_\w+|[a-z]+[A-Z]\w*)/
const LINK = /\[([^\]]{1,200})\]\((?!https?:)[^()\s]{1,200}\)/g
const ERRORS = 'docs/errors.md'
const MAX_QUERY = 300
/** Characters of a quotation. */
const MAX_QUOTE = 1_600

/** Searches the documents for a question, reads the best section, and quotes it. */
export function askDocuments(text: string): Question {
  const search: Call = { toolName: 'search_docs', args: { query: text.slice(0, MAX_QUERY) } }
  const bestOf = (outcomes: readonly Outcome[]) => {
    const { results = [] } = (outcomeOf(outcomes, search)?.result ?? {}) as { results?: Hit[] }
    const fitting = results.filter(({ coverage }) => coverage >= ENOUGH)
    const codes = /_ERR_[A-Z]/.test(text) ? fitting.filter(({ document }) => document === ERRORS) : []
    const [first, second] = codes.length > 0 ? codes : fitting
    // A section that is named like the question is about it.
    const isNamed = second !== undefined && shared(second.heading, text) === stemsOf(second.heading).length
    const hit = isNamed && shared(first!.heading, text) < shared(second.heading, text) ? second : first
    return hit && { hit, read: { toolName: 'read_section', args: { section: hit.section } } }
  }
  return {
    calls(outcomes) {
      const best = bestOf(outcomes)
      return best === undefined ? [search] : [best.read]
    },
    answer(outcomes) {
      const found = outcomeOf(outcomes, search)
      if (found?.result === undefined)
        return `I could not search the documents: ${found?.error ?? 'there is no tool'}.`
      const best = bestOf(outcomes)
      const section = (best && outcomeOf(outcomes, best.read)?.result) as { text?: string } | undefined
      if (best === undefined || section?.text === undefined) return notFound(found.result)
      const { document, heading } = best.hit
      // Links within the documents lead nowhere outside of them.
      const quoted = quote(section.text, text).replace(LINK, '$1')
      return `${quoted}\n\nSource: ${document}, “${heading}”.`
    }
  }
}

/** Quotes a section, or of a long one the lines and paragraphs that have most words of a question. */
export function quote(markdown: string, question: string): string {
  if (markdown.length <= MAX_QUOTE) return markdown
  const blocks = markdown.match(/^```[^]*?^```$|^\|.*$|^[^\n|`][^]*?(?=\n\n|\n\||\n```|$(?![^]))/gm) ?? []
  const identifier = IDENTIFIER.exec(question)?.[0]
  const exact = identifier === undefined ? [] : blocks.filter((block) => block.includes(identifier))
  if (exact.length > 0) return exact.join('\n').slice(0, MAX_QUOTE)
  const points = blocks.map((block) => shared(block, question))
  const ranked = [...blocks.keys()].toSorted((a, b) => points[b]! - points[a]!)
  const chosen = new Set<number>()
  let length = 0
  for (const at of ranked) {
    length += blocks[at]!.length
    if (length > MAX_QUOTE && chosen.size > 0) break
    chosen.add(at)
  }
  return blocks
    .filter((_, at) => chosen.has(at))
    .join('\n\n')
    .slice(0, MAX_QUOTE)
}

// How many words of a question are in a text.
function shared(text: string, question: string): number {
  const stems = new Set(stemsOf(text))
  return new Set(stemsOf(question).filter((stem) => stems.has(stem))).size
}

function notFound(result: unknown): string {
  const { unknown = [] } = result as { unknown?: string[] }
  const words = unknown.slice(0, 4).map((word) => `“${word}”`)
  const missing = words.length === 0 ? '' : ` No document mentions ${words.join(' or ')}.`
  return `The documents of this service do not answer that, so I do not know.${missing}`
}
