import { createRegistry } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { toneDetector } from '../src/testing/tone-codec.ts'
import { toneSpeech } from '../src/testing/tone-speech.ts'
import { toneTranscription } from '../src/testing/tone-transcription.ts'
import { voiceContract } from '../src/testing/voice-contract.ts'
import { VoiceAgent } from '@svc/voice'
import t from 'tap'

for (const streams of [true, false])
  t.test(streams ? 'models that stream' : 'models that do not', async (t) =>
    voiceContract(t, ({ reply }) => {
      const registry = createRegistry()
      const model = scriptedModel(({ prompt }) => {
        const { content } = prompt.findLast(({ role }) => role === 'user')!
        const [part] = content as { text: string }[]
        return reply(part!.text)
      })
      const answer = new Agent({ name: 'desk', registry, model })
      const models = { listen: toneTranscription({ streams }), speak: toneSpeech({ streams }) }
      return {
        voice: new VoiceAgent({
          name: 'phone',
          registry,
          answer,
          ...models,
          turns: { detect: toneDetector() }
        })
      }
    })
  )
