import { lexer, type Tokens } from 'marked'
import { isLight, stemsOf, synonymsOf, termsOf } from '../../../docs/terms.ts'

type Block = Tokens.Paragraph | Tokens.Code | Tokens.List | Tokens.Table

/** The words of a query, each with the stems that count as the same. */
type Wanted = ReadonlyMap<string, ReadonlySet<string>>

/** Characters of a section that is quoted whole, and of one whose heading has every word of the query. */
const WHOLE = 700
const WHOLE_BY_HEADING = 1500
/** Characters after which no more blocks are added. */
const ENOUGH = 900
const MAX_LINES = 8
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })

/** Quotes what a section says about a query, all of a short section or the best blocks; `score` says how well it fits. */
export function extractPassage(heading: string, markdown: string, query: string) {
  const wanted: Wanted = new Map(
    termsOf(query).map(({ stem, parts }) => [stem, new Set([stem, ...parts.slice(1), ...synonymsOf(stem)])])
  )
  const blocks = lexer(markdown).filter((token): token is Block => token.type !== 'space')
  const named = new Set(stemsOf(heading))
  const rest = new Map(
    [...wanted].filter(([stem]) => ![stem, ...synonymsOf(stem)].some((each) => named.has(each)))
  )
  const isWhole =
    (rest.size === 0 && markdown.length <= WHOLE_BY_HEADING) ||
    (markdown.length <= WHOLE && !blocks.some(({ type }) => type === 'table'))
  const text = (isWhole ? blocks.map((block) => write(block)) : choose(blocks, wanted, rest)).join('\n\n')
  // A section or a row that is named like the query defines it.
  const names = [
    heading,
    ...blocks.flatMap((block) => (block.type === 'table' ? block.rows.map(([cell]) => cell!.text) : []))
  ]
  const isDefined = names.some((name) => stemsOf(name).join() === stemsOf(query).join())
  const inHeading = [...wanted.keys()].filter((stem) => !rest.has(stem) && !isLight(stem)).length
  return { text, score: scoreOf(`${heading}\n${text}`, wanted) + inHeading * 0.8 + (isDefined ? 1.5 : 0) }
}

/** Takes the best blocks until there is enough, each with the paragraph that leads to it. */
function choose(blocks: readonly Block[], wanted: Wanted, rest: Wanted): string[] {
  const texts = blocks.map((block) => write(block, wanted))
  // A word of the heading does not tell the blocks below it apart.
  const points = texts.map((text) => scoreOf(text, rest) + scoreOf(text, wanted) / 10)
  const leads = (index: number) =>
    texts[index]?.endsWith(':') === true ||
    (blocks[index]?.type === 'paragraph' && blocks[index + 1]?.type === 'table')
  const chosen = new Set<number>()
  for (const index of rank(points, 0.6)) {
    if ([...chosen].reduce((length, each) => length + texts[each]!.length, 0) >= ENOUGH) break
    if (texts[index - 1]?.endsWith(':') === true) chosen.add(index - 1)
    chosen.add(index)
    if (leads(index)) chosen.add(index + 1)
  }
  return texts.filter((_, index) => chosen.has(index))
}

/** Formats a block. With `wanted`, only the lines of a table or of a long text that fit best. */
function write(block: Block, wanted?: Wanted): string {
  if (block.type === 'code') return `\`\`\`${block.lang ?? ''}\n${block.text}\n\`\`\``
  const isProse = block.type !== 'table' && block.type !== 'list'
  const isLong = block.type === 'table' || block.raw.length > WHOLE
  const lines = linesOf(block, isLong)
  return (wanted !== undefined && isLong ? best(lines, wanted) : lines).join(isProse ? ' ' : '\n')
}

function linesOf(block: Exclude<Block, Tokens.Code>, isLong: boolean): string[] {
  if (block.type === 'list') return block.items.map((item) => `- ${plain(item.text)}`)
  if (block.type === 'table') return block.rows.map((row) => writeRow(block.header, row))
  const text = plain(block.text)
  return isLong ? [...sentences.segment(text)].map(({ segment }) => segment.trim()) : [text]
}

// "| `X` | 404 | no such run |" below "| code | status | when |" is "- `X`: status: 404; when: no such run".
function writeRow(header: readonly Tokens.TableCell[], [first, ...others]: Tokens.TableCell[]): string {
  const cells = others.flatMap(({ text }, index) => {
    const name = others.length === 1 ? '' : `${header[index + 1]!.text}: `
    return text === '' || text === '–' ? [] : [`${name}${plain(text)}`]
  })
  return `- ${plain(first!.text)}${cells.length === 0 ? '' : `: ${cells.join('; ')}`}`
}

/** Removes line breaks and the targets of links. */
function plain(text: string): string {
  return text
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\s*\n\s*/g, ' ')
    .trim()
}

/** The lines that fit best, in their order. */
function best(lines: readonly string[], wanted: Wanted): string[] {
  const stems = lines.map((line) => new Set(stemsOf(line)))
  // A word of nearly every row does not tell them apart.
  const weightOf = (word: string) =>
    Math.log((lines.length + 0.5) / Math.max(1, stems.filter((set) => set.has(word)).length))
  // The first words of a row are its subject.
  const points = lines.map(
    (line) => scoreOf(line, wanted, weightOf) + scoreOf(line.split(': ')[0]!, wanted, weightOf)
  )
  const chosen = rank(points, 0.75).slice(0, MAX_LINES)
  return lines.filter((_, index) => chosen.includes(index))
}

/** The indexes of the points that reach a share of the most, highest first. */
function rank(points: readonly number[], share: number): number[] {
  const least = Math.max(0, ...points) * share
  return [...points.keys()]
    .filter((index) => points[index]! >= least)
    .sort((a, b) => points[b]! - points[a]! || a - b)
}

function scoreOf(text: string, wanted: Wanted, weightOf = (_stem: string) => 1): number {
  const stems = new Set(stemsOf(text))
  const shares = [...wanted].map(([stem, alike]) => {
    const share = stems.has(stem) ? 1 : [...alike].some((each) => stems.has(each)) ? 0.6 : 0
    return share * weightOf(stem)
  })
  return shares.reduce((total, share) => total + share, 0)
}
