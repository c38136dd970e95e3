import { termsOf } from '../../../docs/terms.ts'
import { digitsForWords } from '../assistant/number-words.ts'

/** What a question is about. */
export type Aspect = 'price' | 'stock' | 'hours' | 'contact' | 'about'

/** A value for a field of a form, by the field's label. */
export interface Detail {
  label: string
  value: string
}

/** What a message asks for. */
export interface Task {
  /** `compare`: the cheapest or dearest of several. */
  kind: 'find' | 'compare' | 'order'
  aspect: Aspect
  /** The message without the details. */
  request: string
  /** The words that name what is looked for, as written. */
  words: string[]
  /** Of `compare`. */
  most: 'cheapest' | 'most expensive'
  /** The size, colour or the like. */
  choice: string | undefined
  /** Of `order`. */
  quantity: number
  /** Of `order`. */
  details: Detail[]
}

const MAX_MESSAGE = 2_000
const ORDER =
  /^(?:please |(?:can|could|would|will) you (?:please )?|i(?: would|'d|’d) like to |i want to )?(?:order|buy|purchase)\b/i
const COUNT = /^(?:(?:a|an|the|some)\b|(\d{1,2}\b))/
const CHOICE = /\b(?:in |of )?(?:size|colou?r) ([\p{L}\p{N}–-]{1,20})/iu
const DETAIL = /^\s*([\p{L}][\p{L} -]{1,30}): ?(\S.*)$/u
const CHEAPEST = /\b(?:cheapest|least expensive|lowest price)\b/i
const DEAREST = /\b(?:most expensive|dearest|highest price)\b/i
const ASPECTS: [Aspect, RegExp][] = [
  ['price', /\b(?:prices?|costs?|how much|expensive|euros?)\b/i],
  ['stock', /\b(?:in stock|available|sold out|left|out of stock)\b/i],
  ['hours', /\b(?:open|opens|opening|hours?|close|closes|closed)\b/i],
  ['contact', /\b(?:phone|telephone|call|e-?mail|mail|address|contact|reach)\b/i]
]
/** Words that name no product, after the stop words. */
const FILLER = new Set(
  `price prices cost costs euro euros cheap cheaper cheapest expensive least lowest highest dearest stock available sold
  left tell order buy purchase shop shops store product products item items page website site web number piece pieces size
  sizes colour color open opens opening hour hours close closes closed today look browse sell sells sold please want`.split(
    /\s+/
  )
)

/** Reads a message. */
export function readTask(message: string): Task {
  const pieces = message.slice(0, MAX_MESSAGE).split(/[;\n]|\. (?=\p{Lu}[\p{L} -]{1,30}:)/u)
  const details = pieces.flatMap((piece) => {
    const [, label, value] = DETAIL.exec(piece) ?? []
    return label === undefined || value === undefined
      ? []
      : [{ label, value: value.trim().replace(/\.$/, '') }]
  })
  const request = pieces
    .filter((piece) => !DETAIL.test(piece))
    .join(' ')
    .trim()
  const isOrder = ORDER.test(request)
  const compares = CHEAPEST.test(request) || DEAREST.test(request)
  const named = [CHOICE, ORDER, CHEAPEST, DEAREST]
    .reduce((text, each) => text.replace(each, ' '), request)
    .trim()
  const { count, rest } = isOrder ? readCount(named) : { count: 1, rest: named }
  return {
    kind: isOrder ? 'order' : compares ? 'compare' : 'find',
    aspect: ASPECTS.find(([, pattern]) => pattern.test(request))?.[0] ?? 'about',
    request,
    words: termsOf(rest)
      .map(({ word }) => word)
      .filter((word) => !FILLER.has(word.toLowerCase())),
    most: DEAREST.test(request) ? 'most expensive' : 'cheapest',
    choice: CHOICE.exec(request)?.[1],
    quantity: count,
    details
  }
}

// The number right after the verb: in “a two person tent” it is one tent.
function readCount(named: string): { count: number; rest: string } {
  const [first = '', ...others] = named.split(/\s+/)
  const [word, digits] = COUNT.exec(digitsForWords(first)) ?? []
  return word === undefined
    ? { count: 1, rest: named }
    : { count: Number(digits ?? 1), rest: others.join(' ') }
}

/** What to search for, one after the other until something is found: all words, without their plural, then single words. */
export function queriesOf({ words }: Task): string[] {
  const singular = words.map((word) => (word.length > 3 ? word.replace(/(?<!s)s$/i, '') : word))
  const longest = singular.toSorted((a, b) => b.length - a.length).slice(0, 2)
  return [...new Set([words.join(' '), singular.join(' '), ...longest])].filter(Boolean)
}
