import type {
  Experimental_TranscriptionModelV4StreamPart as StreamPart,
  TranscriptionModelV4
} from '@ai-sdk/provider'
import { createOpenAI } from '@ai-sdk/openai'
import { encodeTones } from '../../src/testing/tone-codec.ts'
import { toneTranscription } from '../../src/testing/tone-transcription.ts'
import type { Usage } from '@svc/registry'
import t from 'tap'
import { loadResampler } from '../../src/audio/resample.ts'
import { writeWav } from '../../src/audio/wav.ts'
import {
  liftTranscription,
  type TranscriptionModel,
  type TranscriptionOptions
} from '../../src/speech/lift-transcription.ts'
import type { ModelFault } from '@svc/runtime/loop'

const TEXT = 'Grüße from a user, 100 %'
const openResampler = await loadResampler()

/** Begins the transcription of a turn; `result` is its final words, or its error. */
function listen(model: TranscriptionModel, options: Partial<TranscriptionOptions> = {}) {
  const [faults, usages, partial]: [ModelFault[], Usage[], string[]] = [[], [], []]
  const open = liftTranscription(model, {
    rate: 16_000,
    openResampler,
    language: undefined,
    timeout: 60_000,
    onFault: (fault) => faults.push(fault),
    onUsage: (usage) => usages.push(usage),
    ...options
  })
  const begin = () => {
    const { promise: result, resolve, reject } = Promise.withResolvers<{ text: string; language?: string }>()
    const turn = open({
      words: (text, final, language) =>
        final ? resolve({ text, ...(language && { language }) }) : partial.push(text),
      fail: reject
    })
    const say = (text = TEXT) => {
      const samples = encodeTones(text, options.rate ?? 16_000)
      for (let at = 0; at < samples.length; at += 320) turn.push(samples.slice(at, at + 320))
      turn.end()
      return result
    }
    return { turn, result, say }
  }
  return { begin, ...begin(), faults, usages, partial }
}

/** A model whose stream has these parts, once its audio is over. */
function streaming(parts: StreamPart[], rest: Partial<TranscriptionModelV4> = {}): TranscriptionModel {
  return {
    ...toneTranscription({ calls: { text: 'from the whole' } }),
    async doStream({ audio }) {
      for await (const _ of audio);
      return { stream: ReadableStream.from(parts) as ReadableStream<StreamPart> }
    },
    ...rest
  }
}
const finish = (text: string): StreamPart => ({ type: 'finish', text, segments: [] })

t.test('a stream: words while the user speaks', async (t) => {
  const { say, partial } = listen(toneTranscription())
  t.strictSame(await say(), { text: TEXT })
  await listen(toneTranscription()).say()
  t.ok(partial.length > 3)
  t.ok(partial.every((text) => TEXT.startsWith(text)))
})

t.test('a stream gets the rate that its provider takes', async (t) => {
  const rates: unknown[] = []
  const of = (provider: string): TranscriptionModel => {
    const model = toneTranscription()
    return {
      ...model,
      provider,
      doStream: (call) => (rates.push(call.inputAudioFormat), model.doStream!(call))
    }
  }
  t.match(await listen(of('openai.transcription')).say(), { text: TEXT })
  t.match(await listen(of('google.generative-ai'), { rate: 8_000 }).say(), { text: TEXT })
  t.strictSame(rates, [
    { type: 'audio/pcm', rate: 24_000 },
    { type: 'audio/pcm', rate: 16_000 }
  ])
})

t.test('the whole: one WAV file at the end', async (t) => {
  const calls: { mediaType: string; providerOptions?: unknown }[] = []
  const model = toneTranscription({ streams: false })
  const spied: TranscriptionModelV4 = {
    ...model,
    provider: 'openai.transcription',
    doGenerate: (call) => (calls.push(call), model.doGenerate(call))
  }
  t.strictSame(await listen(spied, { language: 'de-CH' }).say(), { text: TEXT })
  t.match(calls, [{ mediaType: 'audio/wav', providerOptions: { openai: { language: 'de' } } }])
  const old = { ...model, specificationVersion: 'v2' } as unknown as TranscriptionModel
  t.strictSame(await listen(old).say(), { text: TEXT })
})

t.test('a file is passed as it is', async (t) => {
  const wav = writeWav({ samples: encodeTones(TEXT, 8_000), rate: 8_000 })
  const { turn, result } = listen(toneTranscription())
  turn.read(wav, 'audio/wav')
  t.strictSame(await result, { text: TEXT })
})

t.test('increments, revisions and final segments', async (t) => {
  const parts: StreamPart[] = [
    { type: 'stream-start', warnings: [] },
    { type: 'transcript-delta', delta: 'What ' },
    { type: 'transcript-delta', delta: 'is' },
    { type: 'transcript-partial', text: 'What is the' },
    { type: 'transcript-final', text: 'What is the time? ' },
    { type: 'transcript-partial', text: 'In Rome' },
    { type: 'transcript-final', text: 'In Rome.' }
  ]
  const { say, partial } = listen(streaming([...parts, { ...finish(''), language: 'en' } as StreamPart]))
  t.strictSame(await say(), { text: 'What is the time? In Rome.', language: 'en' })
  t.strictSame(partial, [
    'What',
    'What is',
    'What is the',
    'What is the time?',
    'What is the time? In Rome',
    'What is the time? In Rome.'
  ])
  t.strictSame(await listen(streaming([...parts, finish(' What is the time in Rome? ')])).say(), {
    text: 'What is the time in Rome?'
  })

  t.test('a language that is no text is none', async (t) => {
    const language = { code: 'en' } as unknown as string
    const end = { ...finish('Hello'), language } as StreamPart
    t.strictSame(await listen(streaming([end])).say(), { text: 'Hello' })
    const doGenerate = async () => ({ text: 'Hello', language }) as never
    const whole = { ...toneTranscription({ streams: false }), doGenerate }
    t.strictSame(await listen(whole).say(), { text: 'Hello' })
  })
})

t.test('a stream that fails is replaced by one request for all of the audio', async (t) => {
  const broken = listen(streaming([{ type: 'transcript-partial', text: 'fro' }]))
  t.strictSame(await broken.say(), { text: 'from the whole' })
  t.match(broken.faults, [{ error: { code: 'RUN_ERR_MODEL_FAILED' } }])
  const refused = listen(streaming([], { doStream: () => Promise.reject(new Error('sk-SECRET')) }))
  t.strictSame(await refused.say(), { text: 'from the whole' })
  t.equal(refused.faults.length, 1)
})

t.test('a model that streams by its type only is asked for the whole, once and for all', async (t) => {
  let asked = 0
  const doStream = () => {
    asked++
    return Promise.reject(Object.assign(new Error('x'), { name: 'AI_UnsupportedFunctionalityError' }))
  }
  const { say, begin, faults } = listen(streaming([], { doStream }))
  t.strictSame(await say(), { text: 'from the whole' })
  t.strictSame(await begin().say(), { text: 'from the whole' })
  t.strictSame([asked, faults], [1, []])
})

t.test('the transcription of OpenAI: its class streams, this model does not', async (t) => {
  const openai = createOpenAI({
    apiKey: 'sk-test',
    fetch: async () =>
      Response.json({ text: 'Hello.', usage: { input_tokens: 9, output_tokens: 2, type: 'tokens' } })
  })
  const { say, faults } = listen(openai.transcription('gpt-4o-mini-transcribe'))
  t.match(await say(), { text: 'Hello.' })
  t.strictSame(faults, [])
})

t.test('transient failures are retried, others are the failure of the turn', async (t) => {
  const busy = Object.assign(new Error('sk-SECRET'), { statusCode: 429 })
  const twice = listen(
    toneTranscription({ streams: false, calls: (index) => (index === 0 ? { rejects: busy } : undefined) })
  )
  t.strictSame(await twice.say(), { text: TEXT })
  t.match(twice.faults, [{ transient: true }])
  const failing = listen(toneTranscription({ calls: { rejects: new Error('sk-SECRET') } }))
  await t.rejects(failing.say(), { code: 'RUN_ERR_MODEL_FAILED', message: 'The model provider failed' })
  const garbage = listen(toneTranscription({ streams: false, calls: { text: 7 as unknown as string } }))
  await t.rejects(garbage.say(), { code: 'RUN_ERR_MODEL_FAILED' })
})

for (const streams of [true, false]) {
  t.test(`a model that hangs, ${streams ? 'streamed' : 'whole'}`, async (t) => {
    const { say } = listen(toneTranscription({ streams, calls: { hangs: true } }), { timeout: 5 })
    await t.rejects(say(), {
      code: 'VOICE_ERR_TRANSCRIPTION_TIMEOUT',
      message: 'The transcription model sent no transcript within 5 ms'
    })
  })
}

t.test('nothing is reported after `stop`', async (t) => {
  let signal: AbortSignal | undefined
  const { turn, result, partial } = listen({
    ...toneTranscription(),
    doStream(call) {
      signal = call.abortSignal
      return toneTranscription().doStream!(call)
    }
  })
  void result.then(() => t.fail('words after the end'))
  turn.push(encodeTones('a', 16_000))
  turn.end()
  turn.stop()
  await new Promise(setImmediate)
  t.equal(signal?.aborted, true)
  t.strictSame(partial, [])
})

t.test('a turn without audio has no words', async (t) => {
  const model = toneTranscription()
  const { turn, result } = listen(model)
  turn.end()
  t.strictSame(await result, { text: '' })
  t.strictSame(model.texts, [])
})

t.test('audio after the model has ended its stream early', async (t) => {
  const early = async () => ({
    stream: ReadableStream.from([finish('Early.')]) as ReadableStream<StreamPart>
  })
  const { turn, result } = listen(streaming([], { doStream: early }))
  turn.push(encodeTones('a', 16_000))
  await new Promise(setImmediate)
  turn.push(encodeTones('b', 16_000))
  turn.end()
  t.strictSame(await result, { text: 'Early.' })
})

t.test('tokens are reported, if the provider counts them', async (t) => {
  const { say, usages } = listen(streaming([{ ...finish('x'), usage: { input_tokens: 5 } } as StreamPart]))
  await say()
  t.strictSame(usages, [{ promptTokens: 5, completionTokens: 0, totalTokens: 5 }])
})
