import type { Model, Tool } from '@svc/runtime'
import { VoiceAgent } from '@svc/voice'
import type { ChosenVoice } from '../voice/choose-voice.ts'
import { createReceptionist } from './assistant.ts'

const GREETING = 'Hello! You can ask me about this service, for the time somewhere, or to calculate.'

/** The phone of the demo: its assistant, between a transcription and a speech model. */
export function createPhone(
  model: Model,
  tools: readonly Tool[],
  { listen, speak, phrases }: ChosenVoice
): VoiceAgent {
  return new VoiceAgent({
    name: 'phone',
    description: `Takes calls, and answers like the assistant.${phrases.length === 0 ? '' : ` You can say: ${phrases.join(' · ')}`}`,
    answer: createReceptionist(model, tools),
    greeting: GREETING,
    listen,
    speak,
    replace: true
  })
}
