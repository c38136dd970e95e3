import { lexer, type Tokens } from 'marked'
import { isLight, stemsOf, synonymsOf, termsOf } from '../../../docs/terms.ts'

/** What a section says about a query. */
export interface Passage {
  text: string
  /** How well it fits the query. */
  score: number
}

/** A piece of Markdown that can stand alone: a paragraph, a code block, or some rows of a table. */
type Block = Tokens.Paragraph | Tokens.Code | Tokens.List | Tokens.Table

/** The words of a query, each with the stems that count as the same. */
type Wanted = ReadonlyMap<string, ReadonlySet<string>>

/** Characters of a section that is quoted whole, and of one whose heading has every word of the query. */
const WHOLE = 700
const WHOLE_BY_HEADING = 1500
/** Characters after which no more blocks are added. */
const ENOUGH = 900
const MAX_ROWS = 8
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })

/** Quotes what a section says about a query: all of a short section, the best blocks of a long one. */
export function extractPassage(heading: string, markdown: string, query: string): Passage {
  const wanted: Wanted = new Map(
    termsOf(query).map(({ stem, parts }) => [stem, new Set([stem, ...parts.slice(1), ...synonymsOf(stem)])])
  )
  const blocks = lexer(markdown).filter((token): token is Block => token.type !== 'space')
  const headingStems = new Set(stemsOf(heading))
  const inHeading = [...wanted.keys()].filter((stem) =>
    [stem, ...synonymsOf(stem)].some((each) => headingStems.has(each))
  )
  const rest = new Map([...wanted].filter(([stem]) => !inHeading.includes(stem)))
  const isWhole =
    (rest.size === 0 && markdown.length <= WHOLE_BY_HEADING) ||
    (markdown.length <= WHOLE && !blocks.some(({ type }) => type === 'table'))
  const texts = isWhole ? blocks.map((block) => write(block)) : chooseBlocks(blocks, wanted, rest)
  const text = texts.join('\n\n')
  const named = inHeading.filter((stem) => !isLight(stem)).length
  const score = scoreOf(`${heading}\n${text}`, wanted) + named * 0.8
  return { text, score: score + (isDefined(query, heading, blocks) ? 1.5 : 0) }
}

// "What is a run?", or the row of a table whose first cell is `RUN_ERR_TERMINAL`.
function isDefined(query: string, heading: string, blocks: readonly Block[]): boolean {
  const names = blocks.flatMap((block) =>
    block.type === 'table' ? block.rows.map(([cell]) => cell?.text ?? '') : []
  )
  return [heading, ...names].some((name) => wordsOf(name) === wordsOf(query))
}

function wordsOf(text: string): string {
  return termsOf(text)
    .map(({ stem }) => stem)
    .join(' ')
}

/** Takes the best blocks until there is enough, each with the paragraph that leads to it. */
function chooseBlocks(blocks: readonly Block[], wanted: Wanted, rest: Wanted): string[] {
  const texts = blocks.map((block) => write(block, wanted))
  // A word of the heading does not tell the blocks below it apart.
  const points = texts.map((text) => scoreOf(text, rest) + scoreOf(text, wanted) / 10)
  const order = [...texts.keys()].sort((a, b) => points[b]! - points[a]! || a - b)
  const chosen = new Set<number>()
  const length = () => [...chosen].reduce((sum, index) => sum + texts[index]!.length, 0)
  for (const index of order) {
    if (length() >= ENOUGH || (chosen.size > 0 && points[index]! < points[order[0]!]! * 0.6)) break
    if (leadsOn(texts[index - 1])) chosen.add(index - 1)
    chosen.add(index)
    const isAboveTable = blocks[index]!.type === 'paragraph' && blocks[index + 1]?.type === 'table'
    if (index + 1 < texts.length && (leadsOn(texts[index]) || isAboveTable)) chosen.add(index + 1)
  }
  return texts.filter((_, index) => chosen.has(index))
}

function leadsOn(text: string | undefined): boolean {
  return text !== undefined && /:\s*$/.test(text)
}

/** Formats a block. With `wanted`, only the rows of a table, and the items or sentences of a long text, that fit best. */
function write(block: Block, wanted?: Wanted): string {
  const narrow = (texts: string[], most: number) => (wanted === undefined ? texts : best(texts, wanted, most))
  const isLong = block.raw.length > WHOLE
  switch (block.type) {
    case 'code':
      return `\`\`\`${block.lang ?? ''}\n${block.text}\n\`\`\``
    case 'list': {
      const items = block.items.map((item) => `- ${plain(item.text)}`)
      return (isLong ? narrow(items, MAX_ROWS) : items).join('\n')
    }
    case 'table': {
      const { header, rows } = block
      return narrow(
        rows.map((row) => writeRow(header, row)),
        MAX_ROWS
      ).join('\n')
    }
    default: {
      const text = plain(block.text)
      return isLong
        ? narrow(
            [...sentences.segment(text)].map(({ segment }) => segment.trim()),
            4
          ).join(' ')
        : text
    }
  }
}

// "| `X` | 404 | no such run |" below "| code | status | when |" is "- `X`: status: 404; when: no such run".
function writeRow(header: readonly Tokens.TableCell[], [first, ...others]: Tokens.TableCell[]): string {
  const cells = others.flatMap(({ text }, index) => {
    const name = others.length === 1 ? '' : (header[index + 1]?.text ?? '')
    return text === '' || text === '–' ? [] : [name === '' ? plain(text) : `${name}: ${plain(text)}`]
  })
  return `- ${[plain(first?.text ?? ''), ...(cells.length === 0 ? [] : [cells.join('; ')])].join(': ')}`
}

/** Removes line breaks and the targets of links. */
function plain(text: string): string {
  return text
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\s*\n\s*/g, ' ')
    .trim()
}

/** The texts that fit best, in their order; the first ones if none does. */
function best(texts: readonly string[], wanted: Wanted, most: number): string[] {
  const stems = texts.map((text) => new Set(stemsOf(text)))
  // A word of nearly every row does not tell them apart.
  const weightOf = (word: string) =>
    Math.log((texts.length + 0.5) / Math.max(1, stems.filter((set) => set.has(word)).length))
  // The first words of a row are its subject.
  const points = texts.map(
    (text) => scoreOf(text, wanted, weightOf) + scoreOf(text.split(': ')[0]!, wanted, weightOf)
  )
  const top = Math.max(0, ...points)
  const chosen = [...texts.keys()]
    .filter((index) => top === 0 || points[index]! >= top * 0.75)
    .sort((a, b) => points[b]! - points[a]! || a - b)
    .slice(0, most)
  return texts.filter((_, index) => chosen.includes(index))
}

function scoreOf(text: string, wanted: Wanted, weightOf = (_word: string) => 1): number {
  const stems = new Set(stemsOf(text))
  let score = 0
  for (const [stem, alike] of wanted) {
    if (stems.has(stem)) score += weightOf(stem)
    else if ([...alike].some((each) => stems.has(each))) score += weightOf(stem) * 0.6
  }
  return score
}
