import { createHash } from 'node:crypto'
import type { Page } from 'playwright-core'
import { RUN_ERR_BROWSER_STALE_REF } from '../errors.ts'
import type { Look, LookOptions } from '../browser.ts'
import { bounded, type LookBounds } from './bounded.ts'
import { cutLines, MAX_CHARS } from './cut.ts'
import { walk, type SeenNode } from './seen-node.ts'
import { takeSnapshot } from './snapshot.ts'
import { toLines, type Line } from './to-lines.ts'

const CELLS = new Set(['cell', 'columnheader', 'rowheader'])
const MAX_OPTIONS = 20

const CONTAINERS = new Set(['generic', 'paragraph', 'listitem', 'list', 'strong', 'emphasis', 'group'])

/**
 * Shortens a tree without loss to the reader: plain rows of tables become one line, long lists of options are cut, and
 * containers without content are left out.
 */
function condense(node: SeenNode): SeenNode | undefined {
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

// Elements have more than this on average; what is more than the text can hold is left out in the page already.
const CHARS_PER_ELEMENT = 16

/**
 * Looks at a page. Do not call it while a dialog is open: it blocks the page.
 * @throws RUN_ERR_BROWSER_STALE_REF, RUN_ERR_BROWSER_ACTION_FAILED, RUN_ERR_BROWSER_CRASHED, the reason of the signal
 */
export async function takeLook(
  page: Page,
  options: LookOptions,
  bounds: LookBounds
): Promise<Pick<Look, 'text' | 'omitted' | 'hash'>> {
  return bounded(page, 'look', () => look(page, options, bounds), bounds)
}

async function look(page: Page, { within, maxChars = MAX_CHARS }: LookOptions, bounds: LookBounds) {
  if (within !== undefined && (await page.getByRef(within).count()) === 0) {
    throw new RUN_ERR_BROWSER_STALE_REF(within)
  }
  // An element that is asked for is shown wherever it is.
  const maxElements = within === undefined ? Math.ceil(maxChars / CHARS_PER_ELEMENT) : Number.MAX_SAFE_INTEGER
  const { roots, viewport, above, below, pruned } = await takeSnapshot(page, bounds, maxElements)
  const seen = within === undefined ? roots : [findRef(roots, within)]
  const lines = toLines(seen.flatMap((root) => condense(root) ?? []))
  if (within === undefined) lines.unshift(scrollLine(above / viewport.height, below / viewport.height))
  return {
    ...cutLines(lines, { viewport, maxChars, pruned }),
    hash: hashOf(lines.map(withoutRef).join('\n'))
  }
}

function scrollLine(above: number, below: number): Line {
  return { depth: 0, text: `- viewport: ${above.toFixed(1)} viewports above, ${below.toFixed(1)} below` }
}

function findRef(roots: readonly SeenNode[], ref: string): SeenNode {
  for (const node of walk(roots)) if (node.ref === ref) return node
  throw new RUN_ERR_BROWSER_STALE_REF(ref)
}

// A page that is loaded again has other refs.
function withoutRef({ text, ref }: Line): string {
  return ref === undefined ? text : text.replace(` [ref=${ref}]`, '')
}

function hashOf(text: string): string {
  return createHash('sha1').update(text).digest('base64url')
}
