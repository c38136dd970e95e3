import { createHash } from 'node:crypto'
import { structuredPatch } from 'diff'
import type { Page } from 'playwright-core'
import type { Look, LookOptions } from '../browser.ts'
import { RUN_ERR_BROWSER_STALE_REF } from '../errors.ts'
import { bounded, takeSnapshot, type LookBounds } from './snapshot.ts'
import { cutText, toLines, walk, type Line, type SeenNode } from './to-lines.ts'

/** The size of a viewport, in CSS pixels. */
export interface Viewport {
  readonly width: number
  readonly height: number
}

/** How much of an outline is kept. */
export interface CutOptions {
  readonly viewport: Viewport
  readonly maxChars?: number | undefined
  /** Elements of the page that are not among the lines. */
  readonly pruned?: number
}

/** Default of `LookOptions.maxChars`. */
export const MAX_CHARS = 24_000

// Room for the lines that say how much was left out.
const RESERVED = 400

/** An outline within its budget. */
export interface CutText {
  readonly text: string
  /** Lines left out. */
  readonly omitted: number
}

/**
 * Joins lines to a text of at most `maxChars` characters: first what is in the viewport, then what comes below it, then
 * what is above. A line says how many are missing where.
 */
export function cutLines(
  lines: readonly Line[],
  { viewport, maxChars = MAX_CHARS, pruned = 0 }: CutOptions
): CutText {
  const maxLine = Math.max(200, Math.floor(maxChars / 4))
  const rendered = lines.map(({ depth, text }) => '  '.repeat(depth) + cutText(text, maxLine))
  const sizes = rendered.map((line) => line.length + 1)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  if (total <= maxChars && pruned === 0) return { text: rendered.join('\n'), omitted: 0 }
  const kept = chooseLines(lines, sizes, viewport, Math.max(0, maxChars - RESERVED))
  return joinKept(rendered, kept, maxChars, pruned)
}

function chooseLines(
  lines: readonly Line[],
  sizes: readonly number[],
  viewport: Viewport,
  budget: number
): boolean[] {
  const kept = lines.map(() => false)
  let left = budget
  const parents = parentsOf(lines)
  const keep = (index: number): boolean => {
    // A line makes sense below its ancestors only.
    const path: number[] = []
    for (let at = index; at !== -1 && !kept[at]; at = parents[at]!) path.push(at)
    const size = path.reduce((sum, at) => sum + sizes[at]!, 0)
    if (size > left) return false
    for (const at of path) kept[at] = true
    left -= size
    return true
  }
  const first = lines.findIndex((line) => isVisibleIn(line, viewport))
  const start = first === -1 ? 0 : first
  const orders = [
    lines.flatMap((line, index) => (isVisibleIn(line, viewport) ? [index] : [])),
    lines.map((_, index) => index).slice(start),
    lines.map((_, index) => index).slice(0, start)
  ]
  for (const order of orders) for (const index of order) if (!kept[index] && !keep(index)) return kept
  return kept
}

function isVisibleIn({ box }: Line, { width, height }: Viewport): boolean {
  if (box === undefined) return false
  return box.y < height && box.y + box.height > 0 && box.x < width && box.x + box.width > 0
}

function parentsOf(lines: readonly Line[]): number[] {
  const last: number[] = []
  return lines.map(({ depth }, index) => {
    last.length = Math.min(last.length, depth)
    const parent = last.at(-1) ?? -1
    while (last.length < depth) last.push(parent)
    last.push(index)
    return parent
  })
}

function joinKept(
  rendered: readonly string[],
  kept: readonly boolean[],
  maxChars: number,
  pruned: number
): CutText {
  const out: string[] = []
  const firstKept = kept.indexOf(true)
  const lastKept = kept.lastIndexOf(true)
  const above = kept.slice(0, Math.max(0, firstKept)).length
  const below = kept.length - 1 - lastKept
  const between = kept.filter((isKept, index) => !isKept && index > firstKept && index < lastKept).length
  if (above > 0) out.push(`- … ${above} more lines above`)
  rendered.forEach((line, index) => {
    if (kept[index]) out.push(line)
  })
  if (between > 0) out.push(`- … ${between} more lines in between`)
  if (below > 0) out.push(`- … ${below} more lines below`)
  if (pruned > 0) out.push(`- … ${pruned} more elements out of sight`)
  const omitted = kept.filter((isKept) => !isKept).length + pruned
  return { text: cutText(out.join('\n'), maxChars), omitted }
}

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

// Beyond it the texts have little in common, and the search would take long.
const MAX_EDITS = 2_000

/**
 * The difference of two looks as the hunks of a unified diff, with one line around each change.
 * @returns undefined if the new text is not longer than the difference: then it says more
 */
export function diffLooks(before: string, after: string): string | undefined {
  const patch = structuredPatch('', '', `${before}\n`, `${after}\n`, '', '', {
    context: 1,
    maxEditLength: MAX_EDITS
  })
  if (patch === undefined) return undefined
  const text = patch.hunks
    .map(({ oldStart, oldLines, newStart, newLines, lines }) =>
      [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, ...lines].join('\n')
    )
    .join('\n')
  return text.length < after.length ? text : undefined
}
