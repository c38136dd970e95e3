import { cutText } from './clean-text.ts'
import type { Line } from './to-lines.ts'

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
