import type { Move } from '../rule-model.ts'
import { choose } from './choose.ts'
import { coverage, factsOf, type Fact } from './facts.ts'
import { cite, click, find, type Browsing, type SeenPage } from './page.ts'
import { searchFor } from './search.ts'
import type { Aspect, Task } from './task.ts'

/** What is looked up on a page of its own, and how its link is called. */
const PLACES: Partial<Record<Aspect, { link: RegExp; read: (page: SeenPage, task: Task) => Fact[] }>> = {
  hours: { link: /\b(?:hours|opening)\b/i, read: readHours },
  contact: { link: /\b(?:contact|about|imprint)\b/i, read: readContact }
}
/** What in the text of a product's page answers which question. */
const ANSWERS: Partial<Record<Aspect, RegExp>> = {
  price: /[€$£] ?\d|\d ?(?:EUR|USD|GBP)\b|sold out/i,
  stock: /\b(?:stock|available|sold out)\b/i
}
const CONTACTS: [asked: RegExp, term: RegExp][] = [
  [/phone|call/i, /phone|tel/i],
  [/mail/i, /mail/i],
  [/address|where/i, /address/i]
]

/** Answers a question from the page that is about it, or takes the next step there. */
export function findAnswer(browsing: Browsing): Move {
  const { task, page } = browsing
  const place = PLACES[task.aspect]
  if (place === undefined) return searchFor(browsing) ?? choose(browsing) ?? describe(page, task)
  const facts = place.read(page, task)
  if (facts.length > 0) return cite(facts.map(({ subject, text }) => `${subject}: ${text}`).join('\n'), page)
  const link = find(page.links, ['link'], place.link)
  const isHere = link?.name === page.title
  return link === undefined || isHere ? { answer: 'I found no page that says so.' } : { calls: [click(link)] }
}

function describe(page: SeenPage, task: Task): Move {
  const texts = factsOf(page.main).flatMap(({ kind, text }) => (kind === 'text' ? [text] : []))
  const answer = ANSWERS[task.aspect]
  const fitting = answer === undefined ? texts : texts.filter((text) => answer.test(text))
  if (fitting.length === 0) return cite(`The page “${page.title}” does not say so.`, page)
  return cite(`${page.title}: ${fitting.join(' · ')}`, page)
}

// The rows of the days that were named, or all.
function readHours({ main }: SeenPage, { words }: Task): Fact[] {
  const rows = factsOf(main).filter(({ kind, text }) => kind === 'row' && /\d|closed/i.test(text))
  const named = rows.filter(({ subject }) => words.some((word) => coverage([word], subject) === 1))
  return named.length > 0 ? named : rows
}

function readContact({ main }: SeenPage, { request }: Task): Fact[] {
  const terms = factsOf(main).filter(({ kind }) => kind === 'term')
  const wanted = CONTACTS.filter(([asked]) => asked.test(request)).map(([, term]) => term)
  const found = terms.filter(({ subject }) => wanted.some((term) => term.test(subject)))
  return found.length > 0 ? found : terms
}
