import type { Call, Outcome } from '../conversation.ts'
import type { Move } from '../rule-model.ts'
import { factsOf, mainOf, titleOf } from './facts.ts'
import { readOutline, type Element } from './outline.ts'
import type { Task } from './task.ts'

/** A page as the last call showed it. */
export interface SeenPage {
  url: string
  title: string
  /** The elements of its main part. */
  main: Element[]
  /** All of its links, with those of the navigation. */
  links: Element[]
}

/** Where a message stands: what it asks for, the page that is open, and how it came to be open. */
export interface Browsing {
  task: Task
  page: SeenPage
  /** Calls so far, with their outcomes. */
  outcomes: readonly Outcome[]
  /** What the model said so far besides its calls. */
  said: string
}

// The browser tools enclose what a page says between lines with a random token, which no page can forge.
const ENCLOSED = /\[page (\w+) begins: (\w+);[^\n]*\]\n([\s\S]*?)\n\[page \1 ends\]/

/** Reads the page that a call showed as a whole; undefined if it showed less. */
export function readPage({ toolName, result }: Outcome): SeenPage | undefined {
  const [, , kind, content = ''] = (typeof result === 'string' && ENCLOSED.exec(result)) || []
  if (kind !== 'whole' && toolName !== READ.toolName) return undefined
  const url = /^URL: (\S+)/.exec(content)?.[1]
  if (url === undefined) return undefined
  const elements = readOutline(content)
  const main = mainOf(elements)
  return { url, title: titleOf(main), main, links: elements.filter(({ role }) => role === 'link') }
}

/** What went wrong with a call, without the lines that enclose what a page says. */
export function plainError({ error = '' }: Outcome): string {
  return error.replace(ENCLOSED, '$3')
}

/** The call that reads a page as a whole. */
export const READ: Call = { toolName: 'browser_read', args: {} }

/** The call that opens an address. */
export const open = (url: string): Call => ({ toolName: 'browser_open', args: { url } })

/** The call that clicks an element. */
export const click = ({ ref }: Element): Call => ({ toolName: 'browser_click', args: { ref } })

/** The call that types into a field, and sends its form if `submit` is set. */
export const type = ({ ref }: Element, text: string, submit = false): Call => ({
  toolName: 'browser_type',
  args: { ref, text, ...(submit && { submit }) }
})

/** The call that selects an option by its label. */
export const select = ({ ref }: Element, value: string): Call => ({
  toolName: 'browser_select',
  args: { ref, values: [value] }
})

/** The call that ticks a box or picks a radio button. */
export const check = ({ ref }: Element, checked = true): Call => ({
  toolName: 'browser_check',
  args: { ref, checked }
})

/** The first of some elements with a role and a name that fits. */
export function find(
  elements: readonly Element[],
  roles: readonly string[],
  name: RegExp = /(?:)/
): Element | undefined {
  return elements.find(
    (element) => element.ref !== undefined && roles.includes(element.role) && name.test(element.name)
  )
}

/** All that the text of a page says. */
export function saidOn({ main }: SeenPage): string {
  return factsOf(main)
    .flatMap(({ kind, text }) => (kind === 'text' ? [text] : []))
    .join(' · ')
}

/** An answer with the address of its page. */
export function cite(text: string, { url }: Pick<SeenPage, 'url'>): Move {
  return { answer: `${text}\n\nSource: ${url}` }
}
