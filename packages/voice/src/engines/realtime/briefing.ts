import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { ClientTool, RunContext, VoiceSettings } from '@svc/contract'
import type { SessionTool } from './client-event.ts'
import type { RealtimePlan } from './realtime-plan.ts'
import type { Briefing } from './session-config.ts'

/** The briefing before the first turn. @throws the error of a function of the app */
export async function briefFirst(
  { agent }: RealtimePlan,
  context: RunContext,
  settings: VoiceSettings
): Promise<Briefing> {
  const { instructions } = agent
  const { instructions: chosen, tools } = callerOf(context, settings)
  const own = typeof instructions === 'function' ? await instructions(context) : instructions
  const set = await agent.toolsOf(context)
  return {
    instructions: [own, chosen].filter(Boolean).join('\n\n'),
    tools: [...(set.forModel ?? []).flatMap(toSessionTool), ...tools.map(toClientTool)]
  }
}

/** What the client of a call gives its turns: what it chose, else what it began the run with. */
export function callerOf(
  { instructions, clientTools }: RunContext,
  settings: VoiceSettings
): { readonly instructions: string | undefined; readonly tools: readonly ClientTool[] } {
  return { instructions: settings.instructions ?? instructions, tools: settings.tools ?? clientTools }
}

/** The briefing in a step of a turn. */
export function briefStep({ prompt, tools = [] }: LanguageModelV4CallOptions): Briefing {
  const system = prompt.flatMap((message) => (message.role === 'system' ? [message.content] : []))
  return { instructions: system.join('\n\n'), tools: tools.flatMap(toSessionTool) }
}

function toSessionTool(tool: NonNullable<LanguageModelV4CallOptions['tools']>[number]): SessionTool[] {
  if (tool.type !== 'function') return []
  const { name, description, inputSchema: parameters } = tool
  return [{ type: 'function', name, ...(description !== undefined && { description }), parameters }]
}

function toClientTool({ name, description, input }: ClientTool): SessionTool {
  return { type: 'function', name, description, parameters: input }
}
