import type { Move } from '../rule-model.ts'
import { coverage, factsOf, type Fact } from './facts.ts'
import { click, find, type, type Browsing, type SeenPage } from './page.ts'
import { queriesOf } from './task.ts'

/** The next step on a page with a search form; undefined on any other page. */
export function searchFor(browsing: Browsing): Move | undefined {
  const { task, page } = browsing
  if (searchBox(page) === undefined) return undefined
  const items = itemsOn(browsing)
  const best = items
    .map((item) => ({ ...item, share: coverage(task.words, item.subject) }))
    .toSorted((a, b) => b.share - a.share || a.subject.length - b.subject.length)[0]
  if (best?.link === undefined) return nextQuery(browsing)
  const next = nextPage(page)
  const isOnly = items.length === 1 && find(page.links, ['link'], /^prev/i) === undefined
  if (best.share === 1 || isOnly) return { calls: [click(best.link)] }
  if (next !== undefined) return { calls: [click(next)] }
  if (best.share > 0) return { calls: [click(best.link)] }
  return { answer: `I found ${items.map(({ subject, text }) => `${subject} (${text})`).join('; ')}` }
}

/** The results on a page; none before anything was searched for. */
export function itemsOn({ page, outcomes }: Pick<Browsing, 'page' | 'outcomes'>): Fact[] {
  const isSearched = outcomes.some(({ toolName }) => toolName === 'browser_type')
  return isSearched ? factsOf(page.main).filter(({ kind }) => kind === 'item') : []
}

/** Types what was not searched for yet; an answer if that is all. */
export function nextQuery({ task, page, outcomes }: Browsing): Move {
  const typed = outcomes.filter(({ toolName }) => toolName === 'browser_type').map(({ args }) => args['text'])
  const query = queriesOf(task).find((each) => !typed.includes(each))
  const box = searchBox(page)
  if (query !== undefined && box !== undefined) return { calls: [type(box, query, true)] }
  return { answer: `I found nothing for “${task.words.join(' ')}”.` }
}

/** The link to the next page of results. */
export function nextPage({ links }: SeenPage) {
  return find(links, ['link'], /^next\b/i)
}

function searchBox({ main }: SeenPage) {
  return find(main, ['searchbox']) ?? find(main, ['textbox'], /search/i)
}
