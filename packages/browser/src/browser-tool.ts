import type { Tool } from '@svc/runtime'
import type { Action } from './actions/action.ts'
import type { Visits } from './visit/visit.ts'

/** What is behind a browser tool. */
export interface BrowserTool {
  /** Undefined for `extract`, which does nothing to a page. */
  readonly action: Action | undefined
  readonly visits: Visits
}

const tools = new WeakMap<Tool, BrowserTool>()

/** Marks a tool as one of a browser. */
export function markBrowserTool(tool: Tool, of: BrowserTool): Tool {
  tools.set(tool, of)
  return tool
}

/** What is behind a tool, if it is one of a browser. */
export function browserToolOf(tool: Tool): BrowserTool | undefined {
  return tools.get(tool)
}
