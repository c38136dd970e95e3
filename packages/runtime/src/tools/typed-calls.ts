import type { ToolCall } from '@svc/contract'
import type { Tool } from './define-tool.ts'
import type { AgentTool, ProviderTool } from './tool-set.ts'

/** A call of a tool whose name and result are known. `result` is absent if the call failed: then it has an `error`. */
export interface TypedToolCall<out Name extends string, out Output> extends Omit<
  ToolCall,
  'toolName' | 'result'
> {
  toolName: Name
  result?: Output
}

type CallOf<T> = T extends ProviderTool
  ? TypedToolCall<T['id'] extends `${string}.${infer Name}` ? Name : string, unknown>
  : T extends Tool<never, infer Output, infer Name>
    ? string extends Name
      ? ToolCall
      : TypedToolCall<Name, Output>
    : ToolCall

/**
 * The tool calls of an agent with these tools: a union by `toolName` if all their names are known, else any calls. `load_skill` is the
 * tool of its skills. A run may have calls of yet other names: of the caller's tools, of `prepareStep`, of tools that a tool has
 * called, and names that the model made up, whose `result` is absent.
 */
export type ToolCallOf<Tools extends readonly AgentTool[]> =
  ToolCall extends CallOf<Tools[number]>
    ? ToolCall
    : CallOf<Tools[number]> | TypedToolCall<'load_skill', unknown>
