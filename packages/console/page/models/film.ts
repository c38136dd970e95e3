import type { PartOf } from '@svc/contract'
import type { PartItem, RunItem, ToolItem } from './run-items.ts'

/** A screenshot of a run, with what was done after it. */
export interface Frame {
  readonly id: string
  readonly file: PartOf<'file'>
  /** The member that has the browser; empty for the run itself. */
  readonly source: readonly string[]
  readonly page: PartOf<'browser.page'> | undefined
  /** The actions that followed, up to that of the next screenshot: one, unless some have failed. */
  readonly actions: readonly ToolItem[]
}

/** Whether a tool acts in a browser. */
export const isBrowserTool = (name: string): boolean => name.startsWith('browser_')

/** The screenshots among the items of a run, in their order. */
export function toFilm(items: readonly RunItem[]): Frame[] {
  const shown = new Set<string | undefined>()
  for (const item of items) if (isScreenshot(item)) shown.add(item.part.toolCallId)
  const actions = Map.groupBy(items.filter(isAction), pathOf)
  const frames: Frame[] = []
  const pages = new Map<string, PartOf<'browser.page'>>()
  for (const item of items) {
    const path = pathOf(item)
    if (item.kind === 'page') pages.set(path, item.part as PartOf<'browser.page'>)
    if (!isScreenshot(item)) continue
    const { id, part: file, source } = item
    const own = actions.get(path) ?? []
    const from = own.findIndex(({ toolCallId }) => toolCallId === file.toolCallId) + 1
    const to = own.findIndex(({ toolCallId }, at) => at >= from && shown.has(toolCallId))
    const followed = from === 0 ? [] : own.slice(from, to === -1 ? undefined : to + 1)
    frames.push({ id, file, source, page: pages.get(path), actions: followed })
  }
  return frames
}

/** Whether an item is what a browser has shown. */
export function isScreenshot(item: RunItem): item is PartItem & { readonly part: PartOf<'file'> } {
  return item.kind === 'file' && (item.part as PartOf<'file'>).purpose === 'screenshot'
}

const isAction = (item: RunItem): item is ToolItem => item.kind === 'tool' && isBrowserTool(item.toolName)
const pathOf = ({ source }: RunItem) => JSON.stringify(source)
