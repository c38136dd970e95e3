import type { VoiceSettings } from '@svc/contract'
import type { SessionConfig, SessionTool, SessionTurnDetection } from './client-event.ts'
import type { RealtimePlan } from './realtime-plan.ts'

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
