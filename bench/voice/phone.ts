import { Agent, type AgentOptions } from '@svc/runtime'
import { scriptedModel, type Script } from '@svc/runtime/testing'
import { toneDetector, toneSpeech, toneTranscription } from '@svc/voice/testing'
import { VoiceAgent, type CascadeOptions } from '@svc/voice'
import { RATE } from './caller.ts'

/** Milliseconds of silence that end a turn. */
export const SILENCE = 500
/** Milliseconds of speech that interrupt an answer. */
export const INTERRUPT_AFTER = 200
/** The agent that answers calls. */
export const ANSWERER = 'answerer'

/** How a phone differs from the simplest one. */
export interface PhoneOptions extends Partial<Omit<CascadeOptions, 'answer'>> {
  readonly answerer?: Partial<AgentOptions>
}

/** A phone without the times of models: audio carries its text as tones, and the agent answers at once. */
export function createPhone(script: Script, { answerer, turns, ...voice }: PhoneOptions = {}): VoiceAgent {
  return new VoiceAgent({
    name: 'phone',
    answer: new Agent({
      name: ANSWERER,
      model: scriptedModel(script, { record: false }),
      // What is measured is a turn, not how long the conversation was.
      history: { maxMessages: 4 },
      register: false,
      ...answerer
    }),
    listen: toneTranscription(),
    speak: toneSpeech({ rate: RATE }),
    turns: { detect: toneDetector(), silence: SILENCE, interrupt: { after: INTERRUPT_AFTER }, ...turns },
    register: false,
    ...voice
  })
}
