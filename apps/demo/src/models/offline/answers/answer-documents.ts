import { outcomeOf, type ToolOutcome } from '../conversation.ts'
import { extractPassage } from '../extract-passage.ts'
import type { Intent } from '../intents/intent.ts'
import { hitsOf, readCall, searchCall, sectionsToRead } from '../plan.ts'

type DocumentsIntent = Extract<Intent, { query: string }>

interface SectionText {
  document: string
  heading: string
  text: string
}

const MAX_PASSAGE = 1600

/** Answers from what the documents say, word for word, with where it stands; or says that they do not say it. */
export function answerFromDocuments(intent: DocumentsIntent, outcomes: readonly ToolOutcome[]): string {
  const search = outcomeOf(outcomes, searchCall(intent.query))
  if (search === undefined) return 'I cannot look that up: the tool `search_docs` is not available here.'
  if (search.error !== undefined) return `I could not search the documents: ${search.error}.`
  const passages = sectionsToRead(intent, outcomes).flatMap(({ section }) => {
    const read = outcomeOf(outcomes, readCall(section))
    const found = read?.result as SectionText | undefined
    if (typeof found?.text !== 'string') return []
    return [{ ...found, ...extractPassage(found.heading, found.text, intent.query) }]
  })
  // The first hit is the search's best guess; the second must be clearly better to come before it.
  const [best, second] = passages
  if (best === undefined) return notFound(intent, outcomes, search)
  const chosen = second !== undefined && second.score > best.score + 0.2 ? second : best
  const other = chosen === best ? second : best
  const also = other !== undefined && other.score >= chosen.score ? `\n\nSee also: ${nameOf(other)}.` : ''
  return `${shorten(chosen.text)}\n\nSource: ${nameOf(chosen)}.${also}`
}

function notFound(intent: DocumentsIntent, outcomes: readonly ToolOutcome[], search: ToolOutcome): string {
  const hits = hitsOf(search)
  if (intent.type === 'documents' && intent.more) {
    return 'The documents say no more about that than I told you. Ask me about a part of it, or about something else.'
  }
  if (sectionsToRead(intent, outcomes).length > 0)
    return 'I found a section that fits, but could not read it: the tool `read_section` gave nothing.'
  const unknown = (search.result as { unknown?: string[] } | undefined)?.unknown ?? []
  const missing =
    unknown.length === 0
      ? ''
      : ` No document mentions ${list(unknown.slice(0, 4).map((word) => `“${word}”`))}.`
  const near = hits.find(({ coverage }) => coverage >= 0.3)
  const hint = near === undefined ? '' : ` The nearest that I have is ${nameOf(near)}.`
  return `The documents of this service do not answer that, so I do not know.${missing}${hint}`
}

function nameOf({ document, heading }: { document: string; heading: string }): string {
  return `${document}, “${heading}”`
}

function list(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

function shorten(text: string): string {
  if (text.length <= MAX_PASSAGE) return text
  const cut = text.slice(0, MAX_PASSAGE)
  const short = cut
    .slice(0, Math.max(cut.lastIndexOf('\n'), cut.lastIndexOf('. ') + 1, MAX_PASSAGE / 2))
    .trimEnd()
  const open = (short.match(/^```/gm)?.length ?? 0) % 2 === 1
  return `${short}${open ? '\n```' : ''}\n…`
}
