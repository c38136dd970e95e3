import type { SeenNode } from './seen-node.ts'

const CELLS = new Set(['cell', 'columnheader', 'rowheader'])
const MAX_OPTIONS = 20

const CONTAINERS = new Set(['generic', 'paragraph', 'listitem', 'list', 'strong', 'emphasis', 'group'])

/**
 * Shortens a tree without loss to the reader: plain rows of tables become one line, long lists of options are cut, and
 * containers without content are left out.
 */
export function condense(node: SeenNode): SeenNode | undefined {
  const children = node.children.flatMap((child) =>
    typeof child === 'string' ? child || [] : (condense(child) ?? [])
  )
  if (isEmpty(node) && children.length === 0) return undefined
  if (node.role === 'row') {
    const cells = children.map((child) => plainCell(child))
    if (cells.length > 0 && cells.every((cell) => cell !== undefined)) {
      const { name: _, ...row } = node
      return { ...row, text: cells.join(' | '), children: [] }
    }
  }
  const options = children.filter((child) => isOption(child))
  if (options.length > MAX_OPTIONS + 5) {
    const shown = new Set(
      options.filter((option, index) => index < MAX_OPTIONS || option.states.includes('selected'))
    )
    const rest = children.filter((child) => !isOption(child) || shown.has(child))
    return { ...node, children: [...rest, `… ${options.length - shown.size} more options`] }
  }
  return { ...node, children }
}

function isEmpty({ role, name = '', text = '', states, facts }: SeenNode): boolean {
  return (
    CONTAINERS.has(role) &&
    name === '' &&
    text === '' &&
    states.length === 0 &&
    Object.keys(facts).length === 0
  )
}

function isOption(child: SeenNode | string): child is SeenNode {
  return typeof child !== 'string' && child.role === 'option'
}

function plainCell(child: SeenNode | string): string | undefined {
  if (typeof child === 'string' || !CELLS.has(child.role)) return undefined
  const { children, states, name, text } = child
  if (children.length > 0 || states.length > 0) return undefined
  return text ?? name ?? ''
}
