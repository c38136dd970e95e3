import { optionsSchema } from '@svc/contract'
import { resolveWireOptions, WIRE_OPTIONS, type WireOptions } from '@svc/surface'
import type { RegisterOptions } from 'fastify'
import { Type } from '@sinclair/typebox'
import { OPENAI_ERR_BAD_OPTION } from '../errors.ts'
import type { ToolCallsShown } from '../options.ts'

/** Options of the plugin. */
export interface OpenAiAgentsOptions extends Omit<WireOptions, 'onDisconnect'> {
  /** How sessions show the tool calls that the service executes; default `mcp_call`. */
  toolCalls?: ToolCallsShown
}

const { onDisconnect: _, ...SHARED } = WIRE_OPTIONS

export const OpenAiAgentsOptionsSchema = optionsSchema<OpenAiAgentsOptions>({
  ...SHARED,
  toolCalls: Type.Union([Type.Literal('mcp_call'), Type.Literal('none')])
})

/** Validates the options of the plugin and fills in its defaults. @throws OPENAI_ERR_BAD_OPTION */
export function resolveAgentsOptions(given: OpenAiAgentsOptions & RegisterOptions) {
  const settings = resolveWireOptions(given, OPENAI_ERR_BAD_OPTION, OpenAiAgentsOptionsSchema)
  const { toolCalls = 'mcp_call' } = given
  return { ...settings, toolCalls }
}
