import { Type } from '@sinclair/typebox'
import { optionsSchema, type OnDisconnect } from '@svc/contract'
import { resolveWireOptions, WIRE_OPTIONS, type WireOptions } from '@svc/surface'
import type { RegisterOptions } from 'fastify'
import { OPENAI_ERR_BAD_OPTION } from './errors.ts'

/** How responses show the tool calls that the service executes. */
export type ToolCallsShown = 'mcp_call' | 'none'

/** Options of the plugin. */
export interface OpenAiOptions extends WireOptions {
  /** What happens to a run whose client disconnects, unless its request says; default `cancel`, and `continue` for background responses. */
  onDisconnect?: OnDisconnect
  /** How responses show the tool calls that the service executes; default `mcp_call`. */
  toolCalls?: ToolCallsShown
}

export const OpenAiOptionsSchema = optionsSchema<OpenAiOptions>({
  ...WIRE_OPTIONS,
  toolCalls: Type.Union([Type.Literal('mcp_call'), Type.Literal('none')])
})

/** Validates the options of the plugin and fills in its defaults. @throws OPENAI_ERR_BAD_OPTION */
export function resolveOptions(given: OpenAiOptions & RegisterOptions) {
  const settings = resolveWireOptions(given, OPENAI_ERR_BAD_OPTION, OpenAiOptionsSchema)
  const { toolCalls = 'mcp_call' } = given
  return { onDisconnect: 'cancel' as const, ...settings, toolCalls }
}
