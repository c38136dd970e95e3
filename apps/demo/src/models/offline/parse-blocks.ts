/** A block of Markdown. Items of a list and rows of a table stand alone, so that one of them can be the answer. */
export type Block =
  | { type: 'paragraph'; text: string }
  | { type: 'list'; items: string[] }
  | { type: 'table'; header: string[]; rows: string[][] }
  | { type: 'code'; text: string; language: string }

const ITEM = /^\s*(?:[-*+]|\d+[.)])\s+/

/** Splits the Markdown of a section into its blocks. Links become their text. */
export function parseBlocks(markdown: string): Block[] {
  const blocks: Block[] = []
  const lines = markdown.split('\n')
  for (let at = 0; at < lines.length;) {
    const line = lines[at]!
    const fence = /^\s*(```+|~~~+)\s*(\S*)/.exec(line)
    if (line.trim() === '') at++
    else if (fence !== null) {
      const end = lines.findIndex((each, index) => index > at && each.trim().startsWith(fence[1]!))
      const stop = end === -1 ? lines.length : end
      blocks.push({ type: 'code', language: fence[2]!, text: lines.slice(at + 1, stop).join('\n') })
      at = stop + 1
    } else {
      let stop = at + 1
      const continues = (each: string) =>
        each.trim() !== '' && !/^\s*(?:```|~~~)/.test(each) && ITEM.test(each) === ITEM.test(line)
      if (ITEM.test(line)) while (stop < lines.length && isPartOfList(lines[stop]!)) stop++
      else while (stop < lines.length && continues(lines[stop]!)) stop++
      blocks.push(toBlock(lines.slice(at, stop)))
      at = stop
    }
  }
  return blocks
}

function isPartOfList(line: string): boolean {
  return ITEM.test(line) || /^\s+\S/.test(line)
}

function toBlock(lines: string[]): Block {
  if (ITEM.test(lines[0]!)) {
    const items: string[] = []
    for (const line of lines) {
      if (ITEM.test(line) && !/^\s{2,}/.test(line)) items.push(line.replace(ITEM, ''))
      else items[items.length - 1] += ` ${line.trim()}`
    }
    return { type: 'list', items: items.map(plain) }
  }
  if (lines.length > 1 && /^\s*\|?[\s:|-]+\|[\s:|-]*$/.test(lines[1]!))
    return { type: 'table', header: cellsOf(lines[0]!), rows: lines.slice(2).map(cellsOf) }
  return { type: 'paragraph', text: plain(lines.map((line) => line.trim().replace(/^>\s?/, '')).join(' ')) }
}

function cellsOf(line: string): string[] {
  return line
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => plain(cell.replaceAll('\\|', '|').trim()))
}

function plain(text: string): string {
  return text.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').trim()
}
