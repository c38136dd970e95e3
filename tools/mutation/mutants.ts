import { parseSync } from 'oxc-parser'

/** A fault to plant: the text between two offsets becomes another. */
export interface Mutant {
  start: number
  end: number
  text: string
  /** What it does to the code, for the report. */
  what: string
}

interface Node {
  type: string
  start: number
  end: number
  [key: string]: unknown
}

const OPERATORS: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '&&': '||',
  '||': '&&'
}

const REMOVABLE = /^(?:Call|Await|Assignment)Expression$/

/** Every fault that can be planted in a source file, in the order of its text. */
export function findMutants(path: string, source: string): Mutant[] {
  const { program, errors } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`)
  const found: Mutant[] = []
  visit(program as unknown as Node, (node) => {
    for (const [{ start, end }, text] of replacements(node, source)) {
      const what = `${oneLine(source.slice(start, end))} → ${oneLine(text)}`
      found.push({ start, end, text, what })
    }
  })
  return found.toSorted((a, b) => a.start - b.start || a.end - b.end)
}

function* replacements(node: Node, source: string): Generator<[target: Node, text: string], void> {
  const textOf = (key: string) => {
    const { start, end } = node[key] as Node
    return source.slice(start, end)
  }
  const { type, operator, value } = node
  if (type === 'LogicalExpression' && operator === '??') yield [node, textOf('left')]
  else if (type === 'LogicalExpression' || type === 'BinaryExpression') {
    const other = OPERATORS[operator as string]
    if (other !== undefined && !isText(node['left'] as Node) && !isText(node['right'] as Node))
      yield [node, `${textOf('left')} ${other} ${textOf('right')}`]
  } else if (type === 'IfStatement' || type === 'ConditionalExpression')
    yield [node['test'] as Node, `!(${textOf('test')})`]
  else if (type === 'ExpressionStatement' && REMOVABLE.test((node['expression'] as Node).type))
    yield [node, ';']
  else if (typeof value === 'boolean') yield [node, String(!value)]
  else if (typeof value === 'number') yield [node, String(value + 1)]
}

// Types have no behaviour; `super()` and directives cannot go.
function visit(node: Node, look: (node: Node) => void): void {
  if (/^TS(?!AsExpression|NonNull|Satisfies)/.test(node.type) || node.type === 'ImportDeclaration') return
  if (node.type === 'ExpressionStatement' && node['directive']) return
  look(node)
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value])
      if (typeof (child as Node | null)?.type === 'string') visit(child as Node, look)
}

function isText({ type, value }: Node): boolean {
  return type === 'TemplateLiteral' || (type === 'Literal' && typeof value === 'string')
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > 80 ? `${line.slice(0, 79)}…` : line
}
