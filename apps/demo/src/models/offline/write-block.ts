import type { Block } from './parse-blocks.ts'

/** Writes a block as Markdown; each row of a table becomes an item of a list. */
export function writeBlock(block: Block): string {
  switch (block.type) {
    case 'paragraph':
      return block.text
    case 'list':
      return block.items.map((item) => `- ${item}`).join('\n')
    case 'code':
      return `\`\`\`${block.language}\n${block.text}\n\`\`\``
    default:
      return block.rows.map((row) => `- ${writeRow(block.header, row)}`).join('\n')
  }
}

// "| `X` | 404 | no such run |" below "| code | status | when |" is "`X`: status 404; when: no such run".
function writeRow(header: readonly string[], [first = '', ...others]: readonly string[]): string {
  const cells = others.flatMap((cell, index) => {
    const name = header[index + 1] ?? ''
    if (cell === '' || cell === '–') return []
    return [others.length === 1 || name === '' ? cell : `${name}: ${cell}`]
  })
  return cells.length === 0 ? first : `${first}: ${cells.join('; ')}`
}
