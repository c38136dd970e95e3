import type { Call, Conversation, Move, Outcome } from './rule-model.ts'

/** A page as a call showed it. */
interface Page {
  url: string
  /** The rows of its table, the header first. */
  rows: string[][]
  elements: Element[]
  text: string
}

/** An element that can be clicked, or a field of a form. */
interface Element {
  role: string
  name: string
  ref: string
  isRequired: boolean
  /** What can be chosen in it. */
  options: string[]
}

const HELP =
  'I look things up in the shop: “How much is the rain jacket in size L?”, “Which tea is the cheapest?”, “When are you open on Thursday?” Or: “Order 2 enamel mugs. Name: Ada; E-mail: ada@example.org; …”.'
/** What a message is about, and the link that leads there. */
const TOPICS: readonly (readonly [asked: RegExp, link: RegExp])[] = [
  [/^(?:order|buy)\b/i, /order/i],
  [/\b(?:open|hours?|close[sd]?)\b/i, /hours/i],
  [/\b(?:phone|e-?mail|address|contact)\b/i, /contact/i],
  [/\b(?:much|cost|price|cheap|expensive|stock|sell|size)/i, /products/i]
]
const ORDER = /^(?:order|buy) (?:(\d{1,2}|an?) )?([^.]{2,80})\./i
const DETAIL = /([A-Z][\w -]{1,30}): ?([^;\n]{1,200})/g
// The tools enclose what a page says between lines with a random token, which no page can forge.
const ENCLOSED = /\[page (\w+) begins: (\w+);[^\n]*\]\n([^]*?)\n\[page \1 ends\]/
const ELEMENT =
  /^ *- (link|button|textbox|spinbutton|checkbox|combobox) "((?:[^"\\]|\\.)*)"(.*) \[ref=(\w+)\]/

/** Browses: each call is decided from the text of the page that the last one showed. */
export function browseShop({ message, outcomes, instructions }: Conversation): Move {
  const link = TOPICS.find(([asked]) => asked.test(message))?.[1]
  // Instructions name the page to start from.
  const start = /https?:\/\/\S+[^\s.,;:)]/.exec(instructions)?.[0]
  if (link === undefined || start === undefined) return { answer: HELP }
  if (outcomes.length === 0) return { calls: [call('open', { url: start })] }
  const failed = outcomes.find(({ error }) => error !== undefined)
  if (failed !== undefined) return { answer: `I stopped: ${failed.error!.replace(ENCLOSED, '$3')}` }
  const page = outcomes.map(readPage).findLast((each) => each !== undefined)
  if (page === undefined) return { answer: 'The browser shows me nothing that I can read.' }

  if (page.url.replace(/\W+$/, '') === start.replace(/\W+$/, '')) {
    const found = page.elements.find(({ role, name }) => role === 'link' && link.test(name))
    return found === undefined ? cite('I found no page that says so.', page) : { calls: [click(found)] }
  }
  return ORDER.test(message) ? placeOrder(message, page, outcomes) : cite(findAnswer(message, page), page)
}

/** Fills in a form with what the user said, by its labels; then clicks the button that sends it. */
function placeOrder(message: string, page: Page, outcomes: readonly Outcome[]): Move {
  const button = page.elements.find(({ role }) => role === 'button')
  if (button === undefined)
    return cite(/: ([^\n]*order number[^\n]*)/.exec(page.text)?.[1] ?? 'I could not order.', page)
  const [, count = '1', product = ''] = ORDER.exec(message)!
  const said = new Map(
    [...message.matchAll(DETAIL)].map(([, label = '', value = '']) => [label.toLowerCase(), value.trim()])
  )
  said.set('product', product).set('quantity', String(Number(count) || 1))
  const fields = page.elements.filter(({ role }) => role !== 'link' && role !== 'button')
  const missing = fields.filter(({ name, isRequired }) => isRequired && !said.has(name.toLowerCase()))
  if (missing.length > 0)
    return cite(`To order I also need: ${missing.map(({ name }) => name).join(', ')}.`, page)
  const calls = fields.flatMap((field) => {
    const value = said.get(field.name.toLowerCase())
    return value === undefined ? [] : [fill(field, value)]
  })
  const wrong = calls.find(({ args }) => Array.isArray(args['values']) && args['values'].length === 0)
  if (wrong !== undefined) return cite('The shop does not offer that.', page)
  const isFilled = outcomes.some(({ args }) => args['ref'] === calls[0]?.args['ref'])
  return { calls: isFilled ? [click(button)] : calls }
}

function fill({ role, ref, options }: Element, value: string): Call {
  if (role === 'checkbox') return call('check', { ref, checked: /^yes/i.test(value) })
  if (role !== 'combobox') return call('type', { ref, text: value })
  const fitting = options.filter((option) => value.toLowerCase().includes(option.toLowerCase()))
  return call('select', { ref, values: fitting.slice(0, 1) })
}

/** The rows of a table that a question names, or the cheapest or dearest of them. */
function findAnswer(question: string, { rows: [columns = [], ...rows] }: Page): string {
  const asked = question.toLowerCase()
  const words = new Set(asked.match(/[a-z-]+/g))
  const named = rows.filter(([name = '']) => asked.includes(name.toLowerCase()))
  const alike = rows.filter(([name = '']) =>
    name
      .toLowerCase()
      .split(' ')
      .some((word) => words.has(word))
  )
  const size = /\bsize (\w+)/i.exec(question)?.[1]?.toLowerCase()
  const found = (named.length > 0 ? named : alike).filter(
    (row) => size === undefined || row[1]?.toLowerCase() === size
  )
  const most = /\b(?:(cheapest)|most expensive)\b/.exec(asked)
  if (most !== null) {
    const sign = most[1] === undefined ? -1 : 1
    found.sort((a, b) => sign * (priceOf(a) - priceOf(b))).splice(1)
  }
  // A question that names nothing on the page is about all of it, unless the page has products.
  const shown = found.length === 0 && columns.length === 2 ? rows : found
  if (shown.length === 0) return 'The page names nothing of the kind.'
  const write = ([name, ...cells]: string[]) =>
    `${name}: ${cells.flatMap((cell, at) => (cell === '–' ? [] : [`${columns[at + 1]} ${cell}`])).join(', ')}`
  return shown.map(write).join('\n')
}

function priceOf(row: readonly string[]): number {
  return Number(/€(\d+\.\d\d)/.exec(row.join(' '))?.[1] ?? 0)
}

/** Reads the page that a call showed as a whole; undefined if it showed less. */
function readPage({ result }: Outcome): Page | undefined {
  const [, , kind, text = ''] = (typeof result === 'string' && ENCLOSED.exec(result)) || []
  const url = /^URL: (\S+)/.exec(text)?.[1]
  if (kind !== 'whole' || url === undefined) return undefined
  const rows: string[][] = []
  const elements: Element[] = []
  for (const line of text.split('\n', 5_000)) {
    const row = /^ *- row [^:]*: (.+)$/.exec(line)?.[1]
    if (row !== undefined) rows.push(row.split(' | '))
    const [, role, name, states, ref] = ELEMENT.exec(line) ?? []
    if (role !== undefined)
      elements.push({ role, name: name!, ref: ref!, isRequired: states!.includes('[required]'), options: [] })
    const option = /^ *- option "([^"]*)"/.exec(line)?.[1]
    if (option !== undefined) elements.at(-1)?.options.push(option)
  }
  return { url, rows, elements, text }
}

const call = (action: string, args: Call['args']): Call => ({ toolName: `browser_${action}`, args })
const click = ({ ref }: Element): Call => call('click', { ref })
const cite = (text: string, { url }: Page): Move => ({ answer: `${text}\n\nSource: ${url}` })
