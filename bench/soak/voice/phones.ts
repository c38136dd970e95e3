import { setTimeout as pause } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { toneDetector, toneSpeech, toneTranscription } from '@svc/voice/testing'
import { VoiceAgent } from '@svc/voice'
import { chooseVoice } from '../../../apps/demo/src/voice/choose-voice.ts'

/** Hz. */
const RATE = 16_000
const ANSWER = 'This answer takes a while, long enough to interrupt or cut it.'

const think = defineTool({
  name: 'think',
  description: 'Takes its time',
  input: Type.Object({}),
  execute: (_args, { signal }) => pause(150, 'thought', { signal })
})

const answerer = new Agent({
  name: 'answerer',
  model: scriptedModel(
    ({ prompt }) =>
      prompt.at(-1)?.role === 'tool' ? ANSWER : { toolCalls: [{ toolName: 'think', args: {} }] },
    { record: false }
  ),
  tools: [think],
  register: false
})
const common = {
  answer: answerer,
  listen: toneTranscription(),
  speak: toneSpeech({ rate: RATE }),
  turns: { detect: toneDetector(), silence: 200, interrupt: { after: 100 } },
  timeout: { transcription: 400, speech: 400 },
  register: false
} as const

/** Voice agents: one whose models work, and those whose models do not. */
export async function createPhones(): Promise<VoiceAgent[]> {
  const voice = await chooseVoice({})
  const offline =
    'missing' in voice ? [] : [{ ...common, name: 'offline', listen: voice.listen, speak: voice.speak }]
  return [
    { ...common, name: 'sound' },
    { ...common, name: 'mute', speak: toneSpeech({ rate: RATE, calls: { rejects: new Error('no voice') } }) },
    { ...common, name: 'endless', speak: toneSpeech({ rate: RATE, calls: { hangs: true } }) },
    { ...common, name: 'deaf', listen: toneTranscription({ calls: { hangs: true } }) },
    { ...common, name: 'confused', listen: toneTranscription({ calls: { rejects: new Error('no words') } }) },
    ...offline
  ].map((options) => new VoiceAgent(options))
}
