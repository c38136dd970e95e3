import MiniSearch, { type SearchResult } from 'minisearch'
import { isLight } from '../text/light-words.ts'
import { synonymsOf } from '../text/synonyms.ts'
import { stemsOf, termsOf, type Term } from '../text/terms.ts'
import { isSlipOf } from '../text/typo.ts'
import type { Section } from './parse-sections.ts'

/** A section that a search found. */
export interface FoundSection {
  section: Section
  /** How much of what was asked for occurs in it, 0 to 1; rare words count more. */
  coverage: number
  score: number
}

/** What a search gave: the best first, and the words that no document has. */
export interface SectionSearch {
  found: FoundSection[]
  unknown: string[]
}

/** Finds sections by their words. */
export interface SectionIndex {
  readonly size: number
  get(id: string): Section | undefined
  search(query: string, limit: number): SectionSearch
}

const FUZZY = 0.2
/** What a heading gains that says nothing but what was asked. */
const HEADING_BONUS = 0.1
const MAX_QUERY_TERMS = 40

// The pages come before what packages say of themselves; most questions that could mean several things mean agents.
function boostOf(id: string): number {
  if (id.startsWith('docs/agents.md')) return 1.3
  return /^(?:docs|README)/.test(id) ? 1.25 : 1
}

// How much of a heading was asked for, 0 to 1.
function askedOf(heading: string, words: ReadonlyMap<string, number>): number {
  const stems = stemsOf(heading)
  return stems.length === 0 ? 0 : stems.filter((stem) => words.get(stem) === 1).length / stems.length
}

/** Indexes sections for full-text search: stemmed, with synonyms, and forgiving of typing errors. */
export function createSectionIndex(sections: readonly Section[]): SectionIndex {
  const byId = new Map(sections.map((section) => [section.id, section]))
  const stems = new Map(sections.map((section) => [section.id, new Set(stemsOf(textOf(section)))]))
  const frequency = new Map<string, number>()
  for (const set of stems.values())
    for (const stem of set) frequency.set(stem, (frequency.get(stem) ?? 0) + 1)
  const weigh = (stem: string) => Math.log(1 + (sections.length + 1) / (frequency.get(stem) ?? 0.5))
  const known = (stem: string) => frequency.has(stem)

  const engine = new MiniSearch<Section>({
    fields: ['heading', 'parents', 'document', 'text'],
    tokenize: stemsOf,
    processTerm: (term) => term,
    extractField: (section, field) =>
      field === 'parents'
        ? section.parents.join(' ')
        : section[field as 'id' | 'heading' | 'document' | 'text'],
    searchOptions: {
      tokenize: (query) => query.split(' '),
      boost: { heading: 4, parents: 1.5, document: 1.5 },
      fuzzy: (term) => !known(term) && term.length > 3 && FUZZY,
      prefix: (term) => !known(term) && term.length > 4,
      boostDocument: (id) => boostOf(String(id))
    }
  })
  engine.addAll(sections)

  // Of the words that were searched for, those that occur, be it mistyped.
  const matchedOf = ({ queryTerms, terms }: SearchResult) =>
    queryTerms.filter((term) => known(term) || terms.some((found) => isSlipOf(term, found)))

  const coverageOf = (terms: readonly Term[], id: string, matched: ReadonlySet<string>) => {
    const own = stems.get(id)!
    let covered = 0
    let total = 0
    for (const term of terms) {
      const weight = weigh(term.stem) * (isLight(term.stem) ? 0.4 : 1)
      total += weight
      covered += weight * shareOf(term, own, matched)
    }
    return total === 0 ? 0 : covered / total
  }

  return {
    size: sections.length,
    get: (id) => byId.get(id),
    search(query, limit) {
      const terms = distinct(termsOf(query)).slice(0, MAX_QUERY_TERMS)
      if (terms.length === 0) return { found: [], unknown: [] }
      const words = new Map<string, number>()
      for (const { stem, parts } of terms) {
        words.set(stem, 1)
        for (const part of parts) words.set(part, Math.max(words.get(part) ?? 0, known(stem) ? 0.2 : 0.6))
        for (const other of synonymsOf(stem)) if (!words.has(other)) words.set(other, known(stem) ? 0.4 : 0.5)
      }
      const hits = engine.search([...words.keys()].join(' '), { boostTerm: (term) => words.get(term) ?? 1 })
      const found = hits.slice(0, 40).map((hit) => {
        const coverage = coverageOf(terms, String(hit.id), new Set(matchedOf(hit)))
        const section = byId.get(String(hit.id))!
        const score = hit.score * coverage ** 1.5 * (1 + HEADING_BONUS * askedOf(section.heading, words))
        return { section, coverage, score }
      })
      found.sort((a, b) => b.score - a.score)
      const reached = new Set(hits.flatMap(matchedOf))
      const unknown = terms.filter((term) => !isReached(term, reached)).map((term) => term.word)
      return { found: found.slice(0, limit), unknown }
    }
  }
}

// What occurs as it was asked for counts in full, a synonym less, a word that is only alike half.
function shareOf({ stem, parts }: Term, own: ReadonlySet<string>, matched: ReadonlySet<string>): number {
  if (own.has(stem)) return 1
  const partial = parts.filter((part) => own.has(part)).length / Math.max(1, parts.length)
  if (partial === 1) return 1
  if (synonymsOf(stem).some((other) => own.has(other))) return 0.8
  return Math.max(matched.has(stem) ? 0.6 : 0, partial * 0.7)
}

function isReached({ stem, parts }: Term, reached: ReadonlySet<string>): boolean {
  if ([stem, ...synonymsOf(stem)].some((each) => reached.has(each))) return true
  return parts.length > 0 && parts.every((part) => reached.has(part))
}

function distinct(terms: readonly Term[]): Term[] {
  return [...new Map(terms.map((term) => [term.stem, term])).values()]
}

function textOf({ heading, parents, document, text }: Section): string {
  return `${heading}\n${parents.join('\n')}\n${document}\n${text}`
}
