import realtime from '@svc/realtime'
import registryPlugin, { createRegistry } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { decodeTones, encodeTones, toneDetector, toneSpeech, toneTranscription } from '@svc/voice/testing'
import { scriptedModel } from '@svc/runtime/testing'
import { VoiceAgent } from '@svc/voice'
import fastify from 'fastify'
import t from 'tap'
import { PhoneClient } from '../helpers/phone-client.ts'

const RATE = 24_000

t.test(
  'an answer that resumes until the words of the next turn come is not heard as a part of the next answer',
  async (t) => {
    const app = fastify()
    t.teardown(() => app.close())
    await app.register(registryPlugin, { registry: createRegistry() })
    const desk = new Agent({ name: 'desk', model: scriptedModel('Noon.'), registry: app.registry })
    new VoiceAgent({
      name: 'phone',
      registry: app.registry,
      answer: desk,
      greeting: 'Hello! You can ask me anything, at any time of the day, and I answer at once.',
      listen: toneTranscription({ streams: false, calls: { delay: 400 } }),
      speak: toneSpeech(),
      turns: { detect: toneDetector(), interrupt: { resume: 50 } }
    })
    await app.register(realtime)
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    const client = await PhoneClient.call(`${origin.replace('http', 'ws')}/realtime?model=phone`, RATE)

    const greeting = await client.answer()
    const { understood, answer, sound } = await client.say(
      Int16Array.from(encodeTones('What time is it?', RATE))
    )
    client.hangUp()

    t.match(decodeTones(greeting.sound.samples, greeting.sound.rate), /^Hello! .* at once\.$/)
    t.equal(understood, 'What time is it?')
    t.equal(answer, 'Noon.')
    t.equal(decodeTones(sound.samples, sound.rate), 'Noon.')
  }
)
