import { OPENAI_ERR_BAD_REQUEST } from '../errors.ts'
import type { GivenTool } from '../wire/client-tools.ts'
import type { CompletionBody, Delta, ToolCall } from './completion-schemas.ts'

/** The tools of a request, in the shape of those of Responses. */
export interface GivenTools {
  readonly tools: readonly GivenTool[]
  readonly choice: unknown
  /** True if the client calls them functions, as before there were tools: then an answer has one `function_call`. */
  readonly areFunctions: boolean
  /**
   * True if the run ends with its first call of the client. The call of a function has no id, so that no request could answer it; and the
   * call of the one tool that a request names is mostly all that its client asks for, as an output in the shape of arguments.
   */
  readonly endsAtCall: boolean
}

/** Reads the tools of a request, or its functions. @throws OPENAI_ERR_BAD_REQUEST */
export function readTools(body: CompletionBody): GivenTools {
  const { tools, functions, tool_choice: choice, function_call: called } = body
  if (!functions?.length) {
    const given = tools?.map(({ type, function: call }) => ({ type, ...call })) ?? []
    return { tools: given, choice, areFunctions: false, endsAtCall: isOneOf(given, choice) }
  }
  if (tools?.length) throw new OPENAI_ERR_BAD_REQUEST('tools and functions exclude each other')
  const isNamed = typeof called === 'object' && called !== null
  return {
    tools: functions.map((each) => ({ type: 'function', ...each })),
    choice: isNamed ? { type: 'function', ...called } : called,
    areFunctions: true,
    endsAtCall: true
  }
}

function isOneOf(tools: readonly GivenTool[], choice: unknown): boolean {
  if (typeof choice !== 'object' || choice === null || !('function' in choice)) return false
  const { function: named } = choice as { function?: { name?: unknown } | null }
  return tools.some(({ name }) => name !== undefined && name === named?.name)
}

/** The calls of an answer, as its client expects them. Of functions, an answer has one call only. */
export function toCallFields(
  calls: readonly ToolCall[],
  areFunctions: boolean
): { tool_calls?: ToolCall[]; function_call?: ToolCall['function'] } {
  const [first] = calls
  if (first === undefined) return {}
  return areFunctions ? { function_call: first.function } : { tool_calls: [...calls] }
}

/** As `toCallFields`, in a stream. */
export function toCallDelta(calls: readonly ToolCall[], areFunctions: boolean): Delta {
  const { tool_calls: tools, ...fields } = toCallFields(calls, areFunctions)
  return { ...fields, ...(tools && { tool_calls: tools.map((call, index) => ({ index, ...call })) }) }
}
