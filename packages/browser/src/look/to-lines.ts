// Tags, selectors, zero-width characters and marks of direction: people see none of them, but models read them. The two
// joiners stay, and what makes an emoji colored.
const UNSEEN = /(?!\u200C|\u200D|\uFE0F)[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/gu

/** A text without invisible characters, with single spaces, cut to `maxChars`. */
export function cleanText(text: string, maxChars: number = Number.POSITIVE_INFINITY): string {
  const clean = text.replace(UNSEEN, '').replace(/\s+/g, ' ').trim()
  return cutText(clean, maxChars)
}

/** Cuts a text to a number of characters, and says how many are missing; never in the middle of a surrogate pair. */
export function cutText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const note = `… ${text.length - maxChars} more characters`
  const end = Math.max(0, maxChars - note.length)
  // The high half of a pair at the end would stand alone.
  const isHalf = end > 0 && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800
  return text.slice(0, isHalf ? end - 1 : end) + note
}

// Text that could be taken for what we wrote ourselves stands in quotes, as names always do.
const PLAIN = /^[\p{L}\p{N}$€£¥(][^"\\[\]{}\p{Cc}]*$/u

/** Quotes a text of the page, unless it cannot be mistaken for a part of the outline. */
function quoteIfNeeded(text: string): string {
  return PLAIN.test(text) ? text : JSON.stringify(text)
}

/** A line of a look. */
export interface Line {
  readonly depth: number
  readonly text: string
  readonly ref?: string | undefined
  readonly box?: Box | undefined
}

// Deeper trees are indented no further, or a line would consist of spaces.
const MAX_INDENT = 40

/** Formats a tree as lines in document order: `- role "name" [state] [key="value"] [ref=e1]: text`. */
export function toLines(roots: readonly SeenNode[]): Line[] {
  const lines: Line[] = []
  // A stack of our own: a page may nest deeper than the call stack.
  const stack: { node: SeenNode | string; depth: number; box: Box | undefined }[] = []
  const push = (nodes: readonly (SeenNode | string)[], depth: number, box: Box | undefined): void => {
    for (const node of nodes.toReversed()) stack.push({ node, depth: Math.min(depth, MAX_INDENT), box })
  }
  push(roots, 0, undefined)
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { node, depth, box } = next
    if (typeof node === 'string') {
      lines.push({ depth, text: `- text: ${quoteIfNeeded(node)}`, box })
      continue
    }
    const ownBox = node.box ?? box
    lines.push({ depth, text: formatNode(node), ref: node.ref, box: ownBox })
    push(node.children, depth + 1, ownBox)
  }
  return lines
}

function formatNode(node: SeenNode): string {
  const { role, name, states, facts, ref, text } = node
  if (role === 'text') return `- text: ${quoteIfNeeded(text ?? '')}`
  const head = [
    `- ${role}`,
    name === undefined || name === '' ? undefined : JSON.stringify(name),
    ...states.map((state) => `[${state}]`),
    ...Object.entries(facts).map(([key, value]) => `[${key}=${JSON.stringify(value)}]`),
    ref === undefined ? undefined : `[ref=${ref}]`
  ]
  const line = head.filter((part) => part !== undefined).join(' ')
  if (text !== undefined && text !== '') return `${line}: ${quoteIfNeeded(text)}`
  return node.children.length === 0 ? line : `${line}:`
}

/** An element of a page as the accessibility tree has it. */
export interface SeenNode {
  readonly role: string
  readonly name?: string
  readonly ref?: string
  /** Its text, or the value of a field. */
  readonly text?: string
  /** True if the value of the field is a secret. */
  readonly isMasked?: boolean
  /** States in brackets, e.g. `checked`, `level=2`. */
  readonly states: readonly string[]
  /** Further facts as `key="value"`, e.g. the `url` of a link. */
  readonly facts: Readonly<Record<string, string>>
  readonly children: readonly (SeenNode | string)[]
  /** In CSS pixels of the viewport of the page; undefined if it has no size. */
  readonly box?: Box | undefined
}

/** A rectangle in CSS pixels. */
export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** The elements of a tree, in no particular order. */
export function* walk(roots: readonly SeenNode[]): Generator<SeenNode> {
  const stack: (SeenNode | string)[] = [...roots]
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (typeof node === 'string') continue
    yield node
    stack.push(...node.children)
  }
}
