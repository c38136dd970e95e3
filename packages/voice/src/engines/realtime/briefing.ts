import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { ClientTool, RunContext, VoiceSettings } from '@svc/contract'
import type { SessionConfig, SessionTool, SessionTurnDetection } from './client-event.ts'
import type { RealtimePlan } from './realtime-plan.ts'

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

/** Hz of the audio in both directions: what all providers take. */
export const RATE = 24_000

const AUDIO = { type: 'audio/pcm', rate: RATE } as const

/** The instructions and tools of a session. */
export interface Briefing {
  readonly instructions: string
  readonly tools: readonly SessionTool[]
}

/** The settings of a session: the agent's, with what the client chose. */
export function toSessionConfig(
  plan: RealtimePlan,
  settings: VoiceSettings,
  { instructions, tools }: Briefing
): SessionConfig {
  const { language, providerOptions } = plan
  const voice = settings.voice ?? plan.voice
  return {
    ...(instructions !== '' && { instructions }),
    ...(voice !== undefined && { voice }),
    outputModalities: [settings.modality ?? 'audio'],
    inputAudioFormat: AUDIO,
    outputAudioFormat: AUDIO,
    inputAudioTranscription: language === undefined ? {} : { language },
    outputAudioTranscription: {},
    turnDetection: toDetection(plan, settings),
    tools: [...tools],
    ...(providerOptions !== undefined && { providerOptions: { ...providerOptions } })
  }
}

function toDetection({ turns }: RealtimePlan, { turns: chosen = {} }: VoiceSettings): SessionTurnDetection {
  if (chosen.detect === false) return { type: 'disabled' }
  return {
    type: 'server-vad',
    threshold: chosen.threshold ?? turns.threshold,
    silenceDurationMs: chosen.silence ?? turns.silence,
    prefixPaddingMs: chosen.prefix ?? turns.prefix
  }
}
