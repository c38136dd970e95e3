import { Agent } from '@svc/runtime'
import { scriptedModel, toneDetector, toneSpeech, toneTranscription } from '@svc/runtime/testing'
import { VoiceAgent, type VoiceDetector } from '@svc/runtime/voice'
import { RATE } from './caller.ts'

/** Milliseconds of silence that end a turn. */
export const SILENCE = 500
/** Milliseconds of speech that interrupt an answer. */
export const INTERRUPT_AFTER = 200

/** A phone without the times of models: audio carries its text as tones, and the agent answers at once. */
export function createPhone(answer: string, detect: VoiceDetector = toneDetector()): VoiceAgent {
  return new VoiceAgent({
    name: 'phone',
    answer: new Agent({
      name: 'answerer',
      model: scriptedModel(() => answer, { record: false }),
      // What is measured is a turn, not how long the conversation was.
      history: { maxMessages: 4 },
      register: false
    }),
    listen: toneTranscription(),
    speak: toneSpeech({ rate: RATE }),
    turns: { detect, silence: SILENCE, interrupt: { after: INTERRUPT_AFTER } },
    register: false
  })
}
