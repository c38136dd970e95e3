import { stemsOf } from '../../../docs/terms.ts'
import { around, textOf, type Element } from './outline.ts'

/** Something that a page says about a subject. */
export interface Fact {
  /** The header of a row, a term, the link of an item, or else the heading of the page. */
  subject: string
  text: string
  kind: 'row' | 'term' | 'item' | 'text'
  /** Of an item: the link. */
  link?: Element
}

/** What the main part of a page says, in its order. */
export function factsOf(main: readonly Element[]): Fact[] {
  const title = titleOf(main)
  return main.flatMap((element): Fact[] => {
    const { role, parent } = element
    if (role === 'row') return toRow(element)
    if (role === 'definition') return toTerm(element)
    if (role === 'listitem') return toItem(element)
    const isAlone =
      around(element, 'listitem', 'row', 'definition', 'paragraph', 'alert', 'status') === undefined
    const isText = role === 'paragraph' || role === 'alert' || role === 'status'
    if (!isText || !isAlone || parent === undefined) return []
    const text = textOf(element)
    return text === '' ? [] : [{ subject: title, text, kind: 'text' }]
  })
}

/** The elements of a page's main part, without its navigation. */
export function mainOf(elements: readonly Element[]): Element[] {
  const hasMain = elements.some(({ role }) => role === 'main')
  return elements.filter(
    (element) =>
      (!hasMain || around(element, 'main') !== undefined) &&
      around(element, 'navigation', 'banner', 'contentinfo') === undefined
  )
}

/** The heading of a page; empty if it has none. */
export function titleOf(main: readonly Element[]): string {
  const heading = main.find(({ role, states }) => role === 'heading' && states.includes('level=1'))
  return heading === undefined ? '' : textOf(heading)
}

/** The share of some words that occur in a text, from 0 to 1; 1 for no words. */
export function coverage(words: readonly string[], text: string): number {
  const wanted = stemsOf(words.join(' '))
  if (wanted.length === 0) return 1
  const found = new Set(stemsOf(text))
  return wanted.filter((stem) => found.has(stem)).length / wanted.length
}

// A row below the headers of its columns; its first cell names it.
function toRow(row: Element): Fact[] {
  const top = around(row, 'table')?.children.flatMap(rowsOf)[0]
  const [subject = '', ...cells] = cellsOf(row)
  if (top === undefined || top === row || cells.length === 0) return []
  const [, ...columns] = cellsOf(top)
  const text = cells.map((cell, at) =>
    [columns.length === cells.length && columns[at], cell].filter(Boolean).join(' ')
  )
  return [{ subject, text: text.join(', '), kind: 'row' }]
}

// Rows of plain texts are shown on one line.
function cellsOf({ text, children }: Element): string[] {
  return text === '' ? children.map(textOf) : text.split(' | ')
}

function rowsOf(element: Element): Element[] {
  return element.role === 'row' ? [element] : element.children.flatMap(rowsOf)
}

// A definition with the term before it.
function toTerm(definition: Element): Fact[] {
  const siblings = definition.parent?.children ?? []
  const term = siblings.slice(0, siblings.indexOf(definition)).findLast(({ role }) => role === 'term')
  return term === undefined ? [] : [{ subject: textOf(term), text: textOf(definition), kind: 'term' }]
}

// An item of a list that is named by a link.
function toItem(item: Element): Fact[] {
  const link = linkIn(item)
  if (link === undefined) return []
  const rest = item.children.filter((child) => child !== link && linkIn(child) === undefined)
  const text = rest.map(textOf).filter(Boolean).join(', ')
  return [{ subject: textOf(link), text, kind: 'item', link }]
}

function linkIn({ role, children }: Element): Element | undefined {
  return (
    children.find((child) => child.role === 'link') ??
    (role === 'link' ? undefined : firstOf(children, linkIn))
  )
}

function firstOf<T, R>(list: readonly T[], find: (each: T) => R | undefined): R | undefined {
  for (const each of list) {
    const found = find(each)
    if (found !== undefined) return found
  }
  return undefined
}
