import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import type { Tool } from './define-tool.ts'

/** The tools of an agent, ready for every run. */
export interface ToolSet {
  get(name: string): Tool | undefined
  readonly names: readonly string[]
  /** What the model is told; undefined when there are no tools. */
  readonly forModel: LanguageModelV4FunctionTool[] | undefined
}

/** @throws RUN_ERR_BAD_AGENT when one is not made by `defineTool`, or two have the same name */
export function createToolSet(tools: readonly Tool[]): ToolSet {
  const byName = new Map<string, Tool>()
  for (const [index, tool] of tools.entries()) {
    if (typeof tool?.validateInput !== 'function')
      throw new RUN_ERR_BAD_AGENT(`tools.${index}: use defineTool`)
    if (byName.has(tool.name))
      throw new RUN_ERR_BAD_AGENT(`tools.${index}: there are two tools "${tool.name}"`)
    byName.set(tool.name, tool)
  }
  return {
    get: (name) => byName.get(name),
    names: [...byName.keys()],
    forModel: byName.size === 0 ? undefined : [...byName.values()].map(toModelTool)
  }
}

function toModelTool({ name, description, inputSchema }: Tool): LanguageModelV4FunctionTool {
  return { type: 'function', name, description, inputSchema }
}
