import { createHash } from 'node:crypto'
import type { Page } from 'playwright-core'
import { RUN_ERR_BROWSER_STALE_REF } from '../../errors.ts'
import type { Look, LookOptions } from '../browser.ts'
import { bounded, type LookBounds } from './bounded.ts'
import { cutLines } from './cut.ts'
import { condense } from './condense.ts'
import type { SeenNode } from './seen-node.ts'
import { takeSnapshot } from './snapshot.ts'
import { type Line, toLines } from './to-lines.ts'

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

async function look(page: Page, { within, maxChars }: LookOptions, bounds: LookBounds) {
  if (within !== undefined && (await page.getByRef(within).count()) === 0) {
    throw new RUN_ERR_BROWSER_STALE_REF(within)
  }
  // An element that is asked for is shown wherever it is.
  const maxElements = within === undefined ? undefined : Number.MAX_SAFE_INTEGER
  const { roots, viewport, above, below, pruned } = await takeSnapshot(page, bounds, maxElements)
  const seen = within === undefined ? roots : [findRef(roots, within)]
  const lines = toLines(seen.flatMap((root) => condense(root) ?? []))
  if (within === undefined) lines.unshift(scrollLine(above / viewport.height, below / viewport.height))
  return {
    ...cutLines(lines, { viewport, maxChars, pruned }),
    hash: hashOf(lines.map(({ text }) => text).join('\n'))
  }
}

function scrollLine(above: number, below: number): Line {
  return { depth: 0, text: `- viewport: ${above.toFixed(1)} viewports above, ${below.toFixed(1)} below` }
}

function findRef(roots: readonly SeenNode[], ref: string): SeenNode {
  const stack: (SeenNode | string)[] = [...roots]
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (typeof node === 'string') continue
    if (node.ref === ref) return node
    stack.push(...node.children)
  }
  throw new RUN_ERR_BROWSER_STALE_REF(ref)
}

function hashOf(text: string): string {
  return createHash('sha1').update(text).digest('base64url')
}
