import { isLight } from '../../text/light-words.ts'
import { synonymsOf } from '../../text/synonyms.ts'
import { stemsOf, termsOf } from '../../text/terms.ts'
import { parseBlocks, type Block } from './parse-blocks.ts'
import { writeBlock } from './write-block.ts'

/** What is taken out of a section, and how well it fits. */
export interface Passage {
  text: string
  /** How many of the words that were asked for occur in it. */
  score: number
}

const WHOLE = 700
const LONG = 1500
const BUDGET = 900
const MAX_ROWS = 8
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })

/**
 * Takes from a section what answers a query, word for word: a short section as a whole, of a long one the blocks with most
 * of the words, each with the line that leads to it.
 */
export function extractPassage(heading: string, markdown: string, query: string): Passage {
  const wanted = wantedOf(query)
  const blocks = parseBlocks(markdown)
  const inHeading = new Set([...wanted.keys()].filter((word) => isNamedIn(heading, word)))
  const rest = new Map([...wanted].filter(([word]) => !inHeading.has(word)))
  // Where the heading says all that was asked for, the question is for the section as a whole.
  const all = rest.size === 0 && markdown.length <= LONG
  const whole = all || (markdown.length <= WHOLE && !blocks.some((block) => block.type === 'table'))
  const narrowed = whole
    ? blocks
    : choose(
        blocks.map((block) => narrow(block, wanted)),
        wanted,
        rest
      )
  const text = narrowed.map(writeBlock).join('\n\n')
  const named = [...inHeading].filter((word) => !isLight(word))
  const fits = scoreOf(`${heading}\n${text}`, wanted) + named.length * 0.8
  return { text, score: fits + (defines(heading, blocks, query) ? 1.5 : 0) }
}

// A heading or the first cell of a row that is exactly what was asked for: "What is a run?", "| `RUN_ERR_TERMINAL` |".
function defines(heading: string, blocks: readonly Block[], query: string): boolean {
  const wanted = termsOf(query)
    .map(({ stem }) => stem)
    .join(' ')
  const names = [
    heading,
    ...blocks.flatMap((block) => (block.type === 'table' ? block.rows.map(([first = '']) => first) : []))
  ]
  return names.some(
    (name) =>
      termsOf(name)
        .map(({ stem }) => stem)
        .join(' ') === wanted
  )
}

// A synonym will do, a part of a compound word will not: "Errors of runs" does not say `RUN_ERR_TOO_MANY_RUNS`.
function isNamedIn(heading: string, stem: string): boolean {
  const stems = new Set(stemsOf(heading))
  return [stem, ...synonymsOf(stem)].some((each) => stems.has(each))
}

type Wanted = ReadonlyMap<string, ReadonlySet<string>>

function wantedOf(query: string): Wanted {
  return new Map(
    termsOf(query).map(({ stem, parts }) => [stem, new Set([stem, ...parts.slice(1), ...synonymsOf(stem)])])
  )
}

function scoreOf(text: string, wanted: Wanted, weights?: ReadonlyMap<string, number>): number {
  const stems = new Set(stemsOf(text))
  let score = 0
  for (const [stem, alike] of wanted) {
    const weight = weights?.get(stem) ?? 1
    if (stems.has(stem)) score += weight
    else if ([...alike].some((each) => stems.has(each))) score += weight * 0.6
  }
  return score
}

// A row or an item that fits stands for its table or list; a long paragraph gives its best sentences.
function narrow(block: Block, wanted: Wanted): Block {
  if (block.type === 'table') {
    const weights = rarityIn(block.rows, wanted)
    return { ...block, rows: best(block.rows, (row) => scoreRow(row, wanted, weights), MAX_ROWS) }
  }
  if (block.type === 'list' && block.items.join('').length > WHOLE)
    return { ...block, items: best(block.items, (item) => scoreOf(item, wanted), MAX_ROWS) }
  if (block.type === 'paragraph' && block.text.length > WHOLE) {
    const all = [...sentences.segment(block.text)].map(({ segment }) => segment.trim())
    return { type: 'paragraph', text: best(all, (each) => scoreOf(each, wanted), 4).join(' ') }
  }
  return block
}

// The first cell of a row is its subject.
function scoreRow(row: readonly string[], wanted: Wanted, weights: ReadonlyMap<string, number>): number {
  return scoreOf(row.join(' '), wanted, weights) + scoreOf(row[0] ?? '', wanted, weights)
}

// A word of nearly every row ("run" among commands) tells no row from the others.
function rarityIn(rows: readonly (readonly string[])[], wanted: Wanted): Map<string, number> {
  const stems = rows.map((row) => new Set(stemsOf(row.join(' '))))
  return new Map(
    [...wanted.keys()].map((stem) => {
      const count = stems.filter((set) => set.has(stem)).length
      return [stem, Math.log((rows.length + 0.5) / Math.max(1, count))]
    })
  )
}

// Those that fit best, in their order; where none fits, the first ones.
function best<T>(all: readonly T[], score: (one: T) => number, most: number): T[] {
  const scored = all.map((one, index) => ({ one, index, points: score(one) }))
  const top = Math.max(0, ...scored.map(({ points }) => points))
  return scored
    .filter(({ points }) => top === 0 || points >= top * 0.75)
    .sort((a, b) => b.points - a.points || a.index - b.index)
    .slice(0, most)
    .sort((a, b) => a.index - b.index)
    .map(({ one }) => one)
}

function choose(blocks: readonly Block[], wanted: Wanted, rest: Wanted): Block[] {
  // What the heading says already tells the blocks below it not apart.
  const points = blocks.map(
    (block) => scoreOf(writeBlock(block), rest) + scoreOf(writeBlock(block), wanted) / 10
  )
  const chosen = new Set<number>()
  let length = 0
  const take = (index: number) => {
    if (chosen.has(index) || blocks[index] === undefined) return
    chosen.add(index)
    length += writeBlock(blocks[index]).length
  }
  const order = blocks.map((_, index) => index).sort((a, b) => points[b]! - points[a]! || a - b)
  for (const index of order) {
    if (length >= BUDGET || (chosen.size > 0 && points[index]! < points[order[0]!]! * 0.6)) break
    if (leadsOn(blocks[index - 1])) take(index - 1)
    take(index)
    // A table belongs to the paragraph above it, but a row of it stands for itself.
    if (leadsOn(blocks[index]) || isAboveTable(blocks, index)) take(index + 1)
  }
  return blocks.filter((_, index) => chosen.has(index))
}

function leadsOn(block: Block | undefined): boolean {
  return block?.type === 'paragraph' && /:\s*$/.test(block.text)
}

function isAboveTable(blocks: readonly Block[], index: number): boolean {
  return blocks[index]?.type === 'paragraph' && blocks[index + 1]?.type === 'table'
}
