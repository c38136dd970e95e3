import type { Move } from '../rule-model.ts'
import { coverage, type Fact } from './facts.ts'
import { cite, click, type Browsing } from './page.ts'
import { itemsOn, nextPage, nextQuery } from './search.ts'

interface Priced {
  subject: string
  price: string
  /** The address of the page that shows it. */
  url: string
}

const PRICE = /[€$£] ?(\d[\d,]*(?:\.\d+)?)/
/** What the model said of the pages before, which it cannot see any more. */
const SO_FAR = /^So far (.{1,200}) at (\S{1,20}), on (\S{1,2000})$/gm

/** Reads all pages of results for the lowest or highest price. */
export function compareItems(browsing: Browsing): Move {
  const { task, page, said } = browsing
  const items = itemsOn(browsing)
  if (items.length === 0) return nextQuery(browsing)
  const before = [...said.matchAll(SO_FAR)].at(-1)
  const known: Priced[] = before ? [{ subject: before[1]!, price: before[2]!, url: before[3]! }] : []
  const here = meant(items, task.words).flatMap(({ subject, text }) => {
    const price = PRICE.exec(text)?.[0]
    return price === undefined ? [] : [{ subject, price, url: page.url }]
  })
  const sign = task.most === 'cheapest' ? 1 : -1
  const best = [...known, ...here].toSorted((a, b) => sign * (valueOf(a) - valueOf(b)))[0]
  const next = nextPage(page)
  if (next !== undefined) {
    const note = best && `So far ${best.subject} at ${best.price}, on ${best.url}\n`
    return { calls: [click(next)], ...(note !== undefined && { note }) }
  }
  if (best === undefined) return { answer: `I found no price for “${task.words.join(' ')}”.` }
  return cite(`The ${task.most} is ${best.subject} at ${best.price}.`, best)
}

// Items whose text has the words, such as their category; else those whose name has: a tea atlas is no tea.
function meant(items: readonly Fact[], words: readonly string[]): Fact[] {
  const byText = items.filter(({ text }) => coverage(words, text) === 1)
  return byText.length > 0 ? byText : items.filter(({ subject }) => coverage(words, subject) === 1)
}

function valueOf({ price }: Priced): number {
  return Number(PRICE.exec(price)?.[1]?.replaceAll(',', ''))
}
