import { Type } from '@sinclair/typebox'
import type { Runnable } from '../contract/runnable.ts'
import type { VoiceLink, VoiceRunnable, VoiceSettings } from '../contract/voice.ts'
import { defineRunnable } from '../runnables/define-runnable.ts'
import { withOrigin } from '../runnables/runnable-identity.ts'
import { AudioFormatSchema } from './audio-format.ts'

/** The input of the run of a call, as its log shows it. */
const CallInputSchema = Type.Object(
  { input: AudioFormatSchema, output: AudioFormatSchema, modality: Type.String() },
  { title: 'CallInput' }
)

/** The input of the run of a call: how the client sends and receives. */
export function toCallInput({ input, output, modality = 'audio' }: VoiceSettings): object {
  return { input, output, modality }
}

/** A voice runnable as its run executes it: one call, over a link. The run counts as one of the voice runnable itself. */
export function toCallRunnable(voice: VoiceRunnable, link: VoiceLink): Runnable {
  const { kind, name, toolNames, toolsVary } = voice
  const call = defineRunnable({
    ...{ kind, name, toolNames, toolsVary },
    inputSchema: CallInputSchema,
    stream: (_input, context) => voice.converse(link, context)
  })
  return withOrigin(call, voice)
}
