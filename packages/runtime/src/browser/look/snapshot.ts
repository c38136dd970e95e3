import type { Page } from 'playwright-core'
import type { LookBounds } from './bounded.ts'
import type { Box, SeenNode } from './seen-node.ts'

/** Takes the accessibility tree of a page with refs, frames included. */
export async function takeSnapshot(page: Page, { timeout, signal }: LookBounds): Promise<SeenNode[]> {
  // Refs are read from the JSON, never from text: a page can name an element `[ref=e999]`.
  const json = await page.ariaSnapshotJSON({ mode: 'ai', boxes: true, timeout, ...(signal && { signal }) })
  return (json as unknown as RawNode[]).map(toSeenNode)
}

/** A node of `ariaSnapshotJSON`. */
interface RawNode {
  role: string
  name?: string
  text?: string
  ref?: string
  children?: (RawNode | string)[]
  box?: Box
  checked?: boolean | 'mixed'
  disabled?: boolean
  expanded?: boolean
  active?: boolean
  invalid?: boolean | string
  level?: number
  pressed?: boolean | 'mixed'
  selected?: boolean
  url?: string
  placeholder?: string
}

const STATES = [
  'checked',
  'disabled',
  'expanded',
  'active',
  'invalid',
  'level',
  'pressed',
  'selected'
] as const

function toSeenNode(raw: RawNode): SeenNode {
  const { role, name, text, ref, box, url, placeholder, children = [] } = raw
  return {
    role,
    ...(name !== undefined && { name }),
    ...(text !== undefined && { text }),
    ...(ref !== undefined && { ref }),
    box,
    states: STATES.flatMap((state) => {
      const value = raw[state]
      if (value === undefined || value === false) return []
      return value === true ? [state] : [`${state}=${value}`]
    }),
    facts: { ...(url !== undefined && { url }), ...(placeholder !== undefined && { placeholder }) },
    children: children.map((child) => (typeof child === 'string' ? child : toSeenNode(child)))
  }
}
