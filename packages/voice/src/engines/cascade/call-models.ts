import type { RunContext, Usage } from '@svc/contract'
import { loadResampler } from '../../audio/resample.ts'
import { liftSpeech } from '../../speech/lift-speech.ts'
import { liftTranscription } from '../../speech/lift-transcription.ts'
import type { ModelReport } from '../../speech/model-calls.ts'
import { resolveVoiceModel, SPEECH, TRANSCRIPTION } from '../../speech/voice-model.ts'
import type { CascadeOptions } from '../../voice-options.ts'
import type { EngineHost } from '../engine.ts'
import type { ResolveModels } from './cascade.ts'

/** Milliseconds. */
export interface ModelTimes {
  readonly transcription: number
  readonly speech: number
}

/** Prepares the models of the calls of an agent. @throws RUN_ERR_BAD_MODEL */
export function resolveCallModels(
  { listen, speak, provider, language }: CascadeOptions,
  times: ModelTimes
): ResolveModels {
  const transcriptionOf = resolveVoiceModel(listen, TRANSCRIPTION, provider)
  const speechOf = resolveVoiceModel(speak, SPEECH, provider)
  return async ({ context, emit, rates }) => {
    const openResampler = await loadResampler()
    const common = { openResampler, language }
    return {
      transcribe: liftTranscription(await transcriptionOf(context), {
        ...{ ...common, rate: rates.input, timeout: times.transcription },
        ...reportOf('transcription', context, emit)
      }),
      speak: liftSpeech(await speechOf(context), {
        ...{ ...common, rate: rates.output, timeout: times.speech },
        ...reportOf('speech', context, emit)
      })
    }
  }
}

// Tokens count as those of a member of the call.
function reportOf(
  kind: 'transcription' | 'speech',
  { runId, log }: RunContext,
  emit: EngineHost['emit']
): ModelReport {
  return {
    onFault: ({ details }) => log.warn({ runId, ...details }, `a ${kind} model failed`),
    onUsage: (usage: Usage) => void emit({ type: 'step', index: 0, usage, source: [kind] }).catch(() => {})
  }
}
