import MiniSearch, { type SearchResult } from 'minisearch'
import type { Section } from './sections.ts'
import { isLight, isMisspelled, stemsOf, synonymsOf, termsOf, type Term } from './terms.ts'

/** A section found by a search. */
export interface FoundSection {
  section: Section
  /** Share of the query's words in the section, 0 to 1, weighted by rarity. */
  coverage: number
  score: number
}

/** Full-text search in sections. */
export interface SectionIndex {
  get(id: string): Section | undefined
  /** The best sections, and the words of the query that no document has. */
  search(query: string, limit: number): { found: FoundSection[]; unknown: string[] }
}

const FUZZY = 0.2
const MAX_CANDIDATES = 40
const MAX_QUERY_TERMS = 40
const PROGRAM = /^```[jt]s$[^]*?^```$/gm
/** Extra score of a heading that has only words of the query. */
const HEADING_BONUS = 0.1

/** Indexes sections for full-text search with stems, synonyms and tolerance for typing errors. */
export function createSectionIndex(sections: readonly Section[]): SectionIndex {
  const byId = new Map(sections.map((section) => [section.id, section]))
  const stems = new Map(sections.map((section) => [section.id, new Set(stemsOf(textOf(section)))]))
  const frequency = new Map<string, number>()
  for (const stem of [...stems.values()].flatMap((set) => [...set]))
    frequency.set(stem, (frequency.get(stem) ?? 0) + 1)
  const isKnown = (stem: string) => frequency.has(stem)
  const weightOf = ({ stem }: Term) =>
    Math.log(1 + (sections.length + 1) / (frequency.get(stem) ?? 0.5)) * (isLight(stem) ? 0.4 : 1)

  const engine = new MiniSearch<Section>({
    fields: ['heading', 'parents', 'document', 'text'],
    tokenize: stemsOf,
    processTerm: (term) => term,
    extractField: (section, field) =>
      field === 'text' ? proseOf(section) : String(section[field as keyof Section]),
    searchOptions: {
      tokenize: (query) => query.split(' '),
      boost: { heading: 4, parents: 1.5, document: 1.5 },
      prefix: (term) => !isKnown(term) && term.length > 4,
      // Guides come before package READMEs, and agents before everything else a question may mean.
      boostDocument: (id: string) =>
        id.startsWith('docs/agents') ? 1.3 : /^(?:docs|README)/.test(id) ? 1.25 : 1
    }
  })
  engine.addAll(sections)

  // The words of the query that occur, if only misspelled.
  const matchedBy = ({ queryTerms, terms }: SearchResult) =>
    queryTerms.filter((term) => isKnown(term) || terms.some((found) => isMisspelled(term, found)))

  return {
    get: (id) => byId.get(id),
    search(query, limit) {
      const distinct = new Map(termsOf(query).map((term) => [term.stem, term]))
      const terms = [...distinct.values()].slice(0, MAX_QUERY_TERMS)
      const words = expand(terms, isKnown)
      const total = sum(terms.map(weightOf))
      // A name of several words ("GraphQL") is not a misspelling of another; its parts may be.
      const names = new Set(terms.filter(({ parts }) => parts.length > 0).map(({ stem }) => stem))
      const hits = engine.search([...words.keys()].join(' '), {
        boostTerm: (term) => words.get(term) ?? 1,
        fuzzy: (term) => !isKnown(term) && !names.has(term) && term.length > 3 && FUZZY
      })
      const found = hits.slice(0, MAX_CANDIDATES).map((hit) => {
        const section = byId.get(hit.id as string)!
        const matched = new Set(matchedBy(hit))
        const shares = terms.map((term) => weightOf(term) * shareOf(term, stems.get(section.id)!, matched))
        const coverage = sum(shares) / total
        const heading = stemsOf(section.heading)
        const asked = heading.filter((stem) => words.get(stem) === 1).length / Math.max(1, heading.length)
        return { section, coverage, score: hit.score * coverage ** 1.5 * (1 + HEADING_BONUS * asked) }
      })
      const reached = new Set(hits.flatMap(matchedBy))
      return {
        found: found.sort((a, b) => b.score - a.score).slice(0, limit),
        unknown: terms.filter((term) => shareOf(term, reached, reached) < 0.8).map(({ word }) => word)
      }
    }
  }
}

/** The stems to search for with their weights: those of the query, of the parts of its words, and synonyms. */
function expand(terms: readonly Term[], isKnown: (stem: string) => boolean): Map<string, number> {
  const words = new Map<string, number>()
  for (const { stem, parts } of terms) {
    words.set(stem, 1)
    for (const part of parts) words.set(part, Math.max(words.get(part) ?? 0, isKnown(stem) ? 0.2 : 0.6))
    for (const other of synonymsOf(stem)) if (!words.has(other)) words.set(other, isKnown(stem) ? 0.4 : 0.5)
  }
  return words
}

// A word counts in full, a synonym less, a misspelling or some parts of a compound least.
function shareOf({ stem, parts }: Term, stems: ReadonlySet<string>, matched: ReadonlySet<string>): number {
  const partial = parts.filter((part) => stems.has(part)).length / Math.max(1, parts.length)
  if (stems.has(stem) || partial === 1) return 1
  if (synonymsOf(stem).some((other) => stems.has(other))) return 0.8
  return Math.max(matched.has(stem) ? 0.6 : 0, partial * 0.7)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function textOf(section: Section): string {
  return [section.heading, ...section.parents, section.document, proseOf(section)].join('\n')
}

/** A section is about its prose, not about the names in its programs ("refund"). */
function proseOf({ text }: Section): string {
  return text.replace(PROGRAM, '')
}
