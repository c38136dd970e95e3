import type { Experimental_SpeechModelV4StreamPart as StreamPart, SpeechModelV4 } from '@ai-sdk/provider'
import { createOpenAI } from '@ai-sdk/openai'
import { errors } from '@svc/runtime'
import { decodeTones, encodeTones } from '../../src/testing/tone-codec.ts'
import { toneSpeech } from '../../src/testing/tone-speech.ts'
import type { Usage } from '@svc/registry'
import t from 'tap'
import { encodeAudio, joinSamples } from '../../src/audio/codec.ts'
import { loadResampler } from '../../src/audio/resample.ts'
import { writeWav } from '../../src/audio/wav.ts'
import { liftSpeech, type SpeechModel, type SpeechOptions } from '../../src/speech/lift-speech.ts'
import type { ModelFault } from '@svc/runtime/loop'

const TEXT = 'Grüße from a model, 100 %'
const openResampler = await loadResampler()

interface Asked extends Partial<SpeechOptions> {
  voice?: string
  signal?: AbortSignal
}

/** What a model says to a text, decoded; and what it reports. */
function ask(model: SpeechModel, { voice, signal = new AbortController().signal, ...options }: Asked = {}) {
  const [faults, usages]: [ModelFault[], Usage[]] = [[], []]
  const rate = options.rate ?? 16_000
  const speak = liftSpeech(model, {
    rate,
    openResampler,
    language: undefined,
    timeout: 60_000,
    onFault: (fault) => faults.push(fault),
    onUsage: (usage) => usages.push(usage),
    ...options
  })
  const text = async () => {
    const pieces: Int16Array[] = []
    for await (const samples of speak(TEXT, voice, signal)) pieces.push(samples)
    return decodeTones(joinSamples(pieces), rate)
  }
  return { text, speak, faults, usages }
}

/** A model whose stream has these parts. */
function streaming(...parts: StreamPart[]) {
  return { ...toneSpeech(), doStream: async () => ({ stream: ReadableStream.from(parts) }) } as SpeechModel
}
const audioPart = (audio: Uint8Array | string, type = 'audio/pcm', rate = 16_000): StreamPart => ({
  type: 'audio',
  audio,
  audioFormat: { type, rate }
})
const wholly = (audio: Uint8Array | string, provider = 'tone') =>
  ({
    ...toneSpeech({ streams: false }),
    provider,
    doGenerate: async () => ({ audio })
  }) as unknown as SpeechModel

for (const streams of [true, false]) {
  for (const [from, to] of [
    [24_000, 8_000],
    [16_000, 48_000],
    [22_050, 24_000]
  ] as const) {
    t.test(`${streams ? 'a stream' : 'a whole'} at ${from} Hz, spoken at ${to} Hz`, async (t) => {
      const model = toneSpeech({ rate: from, streams })
      t.equal(await ask(model, { rate: to }).text(), TEXT)
      t.strictSame(model.texts, [TEXT])
    })
  }
}

t.test('versions 2 and 3, base64, G.711', async (t) => {
  const old = { ...toneSpeech({ streams: false }), specificationVersion: 'v2' } as unknown as SpeechModel
  t.equal(await ask(old).text(), TEXT)
  const wav = writeWav({ samples: encodeTones(TEXT, 24_000), rate: 24_000 })
  t.equal(await ask(wholly(Buffer.from(wav).toString('base64'))).text(), TEXT)
  const phone = encodeAudio(encodeTones(TEXT, 8_000), { type: 'audio/pcmu' })
  t.equal(await ask(streaming(audioPart(phone, 'audio/PCMU', 8_000), { type: 'finish' })).text(), TEXT)
})

t.test('chunks may split samples', async (t) => {
  const bytes = encodeAudio(encodeTones(TEXT, 16_000), { type: 'audio/pcm' })
  const parts: StreamPart[] = []
  for (let at = 0; at < bytes.length; at += 333) parts.push(audioPart(bytes.slice(at, at + 333)))
  t.equal(await ask(streaming(...parts, { type: 'finish' })).text(), TEXT)
})

t.test('the voice, the language and a format that can be read are asked for', async (t) => {
  const calls: unknown[] = []
  const model = toneSpeech({ streams: false })
  const spied: SpeechModelV4 = { ...model, doGenerate: (call) => (calls.push(call), model.doGenerate(call)) }
  await ask(spied, { voice: 'coral', language: 'de' }).text()
  t.match(calls, [{ text: TEXT, voice: 'coral', language: 'de', outputFormat: 'wav' }])
})

t.test('a provider without WAV is asked for PCM', async (t) => {
  const raw = encodeAudio(encodeTones(TEXT, 24_000), { type: 'audio/pcm' })
  t.equal(await ask(wholly(raw, 'elevenlabs.speech')).text(), TEXT)
})

t.test('the speech of OpenAI, whole', async (t) => {
  const bodies: unknown[] = []
  const openai = createOpenAI({
    apiKey: 'sk-test',
    async fetch(_url, init) {
      bodies.push(JSON.parse(init?.body as string))
      const wav = writeWav({ samples: encodeTones(TEXT, 24_000), rate: 24_000 })
      // As for a stream, whose length is not known in advance.
      wav.fill(0xff, 40, 44)
      return new Response(wav.slice())
    }
  })
  t.equal(await ask(openai.speech('gpt-4o-mini-tts'), { voice: 'coral' }).text(), TEXT)
  t.match(bodies, [{ response_format: 'wav', voice: 'coral', input: TEXT }])
})

t.test('audio that cannot be read', async (t) => {
  const refuses = (model: SpeechModel, message: RegExp) =>
    t.rejects(ask(model).text(), { code: 'VOICE_ERR_SPEECH_UNREADABLE', message })
  await refuses(wholly(Buffer.from('ID3 a song')), /: audio\/mpeg instead of WAV$/)
  await refuses(wholly(Buffer.from('fLaC and more')), /: audio\/.*flac instead/)
  await refuses(wholly(Buffer.from('{"error":"sk-SECRET"}')), /: an unknown format instead of WAV$/)
  await refuses(wholly(Buffer.from([1, 2, 3])), /an unknown format/)
  await refuses(wholly(new Uint8Array(0)), /it is empty/)
  await refuses(wholly(Buffer.from('RIFF....WAVEnothing')), /no data/)
  await refuses(streaming(audioPart(Uint8Array.of(1, 2), 'audio/mpeg')), /its stream is not PCM/)
  await refuses(streaming(audioPart(Uint8Array.of(1, 2), 'audio/pcm', 1)), /its rate is out of range/)
  const changing = [audioPart(new Uint8Array(2)), audioPart(new Uint8Array(2), 'audio/pcm', 24_000)]
  await refuses(streaming(...changing), /its format changes/)
})

t.test('transient failures before the first audio are retried, others are not', async (t) => {
  const busy = Object.assign(new Error('overloaded, sk-SECRET'), { statusCode: 503 })
  const twice = ask(toneSpeech({ calls: (index) => (index === 0 ? { rejects: busy } : undefined) }))
  t.equal(await twice.text(), TEXT)
  t.match(twice.faults, [{ transient: true, details: { statusCode: 503 } }])

  const always = ask(toneSpeech({ streams: false, calls: { rejects: busy } }))
  await t.rejects(always.text(), { code: 'RUN_ERR_MODEL_FAILED', message: 'The model provider failed' })
  t.equal(always.faults.length, 2)

  const refused = ask(toneSpeech({ calls: { rejects: Object.assign(new Error('no'), { statusCode: 401 }) } }))
  await t.rejects(refused.text(), new errors.RUN_ERR_MODEL_AUTH())
  t.equal(refused.faults.length, 1)
})

t.test('a stream that breaks off after some audio is not repeated', async (t) => {
  const parts = [audioPart(new Uint8Array(640)), { type: 'error' as const, error: new Error('sk-SECRET') }]
  const { text, faults } = ask(streaming(...parts))
  await t.rejects(text(), { code: 'RUN_ERR_MODEL_FAILED', message: 'The model provider failed' })
  t.equal(faults.length, 1)
  await t.rejects(ask(streaming(audioPart(new Uint8Array(640)))).text(), {
    code: 'RUN_ERR_MODEL_STREAM_BROKEN'
  })
})

t.test('an error in a stream that ends well is none', async (t) => {
  const bytes = encodeAudio(encodeTones(TEXT, 16_000), { type: 'audio/pcm' })
  const parts = [{ type: 'error' as const, error: 'late' }, audioPart(bytes), { type: 'finish' as const }]
  t.equal(await ask(streaming(...parts)).text(), TEXT)
})

t.test('a model that streams by its type only is asked for the whole, once and for all', async (t) => {
  let asked = 0
  const model = {
    ...toneSpeech(),
    async doStream() {
      asked++
      throw Object.assign(new Error('not this one'), { name: 'AI_UnsupportedFunctionalityError' })
    }
  } as unknown as SpeechModel
  const { text, faults } = ask(model)
  t.strictSame(await Promise.all([text(), text()]), [TEXT, TEXT])
  t.equal(await text(), TEXT)
  t.equal(asked, 2)
  t.equal(faults.length, 0)
})

for (const streams of [true, false]) {
  t.test(`a model that hangs, ${streams ? 'streamed' : 'whole'}`, async (t) => {
    const hanging = { ...toneSpeech({ streams, calls: { hangs: true } }) }
    // It does not even take notice of the signal.
    if (streams) hanging.doStream = async () => ({ stream: new ReadableStream() })
    else hanging.doGenerate = () => new Promise(() => {})
    await t.rejects(ask(hanging, { timeout: 5 }).text(), {
      code: 'VOICE_ERR_SPEECH_TIMEOUT',
      message: 'The speech model sent no audio within 5 ms'
    })
    const leaving = new AbortController()
    const speaking = ask(hanging, { signal: leaving.signal }).text()
    leaving.abort(new Error('interrupted'))
    await t.rejects(speaking, { message: 'interrupted' })
  })
}

t.test('a stream of nothing is a model that hangs', async (t) => {
  const empty = async function* () {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve))
      yield audioPart(new Uint8Array(0))
    }
  }
  const model = { ...toneSpeech(), doStream: async () => ({ stream: ReadableStream.from(empty()) }) }
  await t.rejects(ask(model as SpeechModel, { timeout: 50 }).text(), { code: 'VOICE_ERR_SPEECH_TIMEOUT' })
})

t.test('audio that is far too long for its text ends', async (t) => {
  const endless = async function* () {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve))
      yield audioPart(new Uint8Array(320_000))
    }
  }
  const model = { ...toneSpeech(), doStream: async () => ({ stream: ReadableStream.from(endless()) }) }
  const samples = new Int16Array(16_000 * 90)
  for (const each of [model as SpeechModel, wholly(writeWav({ samples, rate: 16_000 }))])
    await t.rejects(ask(each).text(), {
      code: 'VOICE_ERR_SPEECH_UNREADABLE',
      message: /: more than 55 seconds for a text of 25 characters$/
    })
})

t.test('a reader that leaves ends the stream', async (t) => {
  const canceled = Promise.withResolvers<void>()
  const model = {
    ...toneSpeech(),
    doStream: async () => ({
      stream: new ReadableStream<StreamPart>({
        pull: (controller) => controller.enqueue(audioPart(new Uint8Array(640))),
        cancel: () => canceled.resolve()
      })
    })
  } as SpeechModel
  for await (const samples of ask(model).speak(TEXT, undefined, new AbortController().signal)) {
    t.type(samples, Int16Array)
    break
  }
  await canceled.promise
})

t.test('tokens are reported, if the provider counts them', async (t) => {
  const usage = { inputTokens: 3, outputTokens: 40 }
  const { text, usages } = ask(streaming(audioPart(new Uint8Array(2)), { type: 'finish', usage }))
  await text()
  t.strictSame(usages, [{ promptTokens: 3, completionTokens: 40, totalTokens: 43 }])
  const characters = ask(toneSpeech())
  await characters.text()
  t.strictSame(characters.usages, [])
})
