import { decodeTones, encodeTones, toneDetector } from '../../src/testing/tone-codec.ts'
import { toneSpeech } from '../../src/testing/tone-speech.ts'
import { toneTranscription } from '../../src/testing/tone-transcription.ts'
import t from 'tap'
import { fvad } from '@svc/voice'
import { readWav, writeWav } from '../../src/audio/wav.ts'

const streamOf = <T>(...items: T[]) => ReadableStream.from(items) as ReadableStream<T>

async function partsOf<T>(stream: ReadableStream<T>) {
  const parts: T[] = []
  for await (const part of stream) parts.push(part)
  return parts
}

t.test('speech, whole: WAV, or PCM if asked for', async (t) => {
  const model = toneSpeech({ rate: 16_000 })
  const { audio } = await model.doGenerate({ text: 'hello there' })
  const { samples, rate } = readWav(audio as Uint8Array)
  t.equal(decodeTones(samples, rate), 'hello there')
  const { audio: raw } = await model.doGenerate({ text: 'as PCM', outputFormat: 'pcm' })
  t.equal(decodeTones(new Int16Array((raw as Uint8Array).slice().buffer), 16_000), 'as PCM')
  t.strictSame(model.texts, ['hello there', 'as PCM'])
})

t.test('speech and transcription, streamed: one into the other', async (t) => {
  const speech = toneSpeech()
  const { stream } = await speech.doStream!({
    text: streamOf({ type: 'text', text: 'hel' }, { type: 'text', text: 'lo' })
  })
  const spoken = await partsOf(stream)
  t.strictSame(speech.texts, ['hello'])
  t.match(spoken.at(-1), { type: 'finish', usage: { inputCharacters: 5 } })
  const audio = spoken.flatMap((part) => (part.type === 'audio' ? [part.audio] : []))
  const model = toneTranscription()
  const inputAudioFormat = { type: 'audio/pcm', rate: 24_000 }
  const { stream: transcribed } = await model.doStream!({ audio: streamOf(...audio), inputAudioFormat })
  t.match(await partsOf(transcribed), [
    { type: 'transcript-partial', text: 'hel' },
    { type: 'transcript-partial', text: 'hello' },
    { type: 'transcript-final', text: 'hello' },
    { type: 'finish', text: 'hello', durationInSeconds: 0.15 }
  ])
})

t.test('transcription, whole', async (t) => {
  const audio = writeWav({ samples: encodeTones('Grüße', 8_000), rate: 8_000 })
  const model = toneTranscription()
  t.match(await model.doGenerate({ audio, mediaType: 'audio/wav' }), { text: 'Grüße' })
  t.match(await model.doGenerate({ audio: Buffer.from(audio).toString('base64'), mediaType: 'audio/wav' }), {
    text: 'Grüße'
  })
})

t.test('calls that fail, hang, wait or answer with something else', async (t) => {
  const speech = toneSpeech({
    calls: (index) =>
      [{ rejects: new Error('no voice') }, { hangs: true }, { audio: Uint8Array.of(1) }][index]
  })
  await t.rejects(async () => speech.doGenerate({ text: 'a' }), { message: 'no voice' })
  const leaving = new AbortController()
  const hanging = speech.doGenerate({ text: 'a', abortSignal: leaving.signal })
  leaving.abort()
  await t.rejects(async () => hanging, { name: 'AbortError' })
  t.same((await speech.doGenerate({ text: 'a' })).audio, Uint8Array.of(1))

  const listen = toneTranscription({ calls: { text: 'always this', delay: 1 } })
  const audio = writeWav({ samples: new Int16Array(9), rate: 8_000 })
  t.match(await listen.doGenerate({ audio, mediaType: 'audio/wav' }), { text: 'always this' })
  t.equal(toneSpeech({ streams: false }).doStream, undefined)
  t.equal(toneTranscription({ streams: false }).doStream, undefined)
})

for (const [name, detector] of Object.entries({ toneDetector: toneDetector(), fvad: fvad() })) {
  t.test(`${name} takes tones for speech, and silence for none`, async (t) => {
    const detection = await detector.create()
    const probabilities = async (samples: Int16Array) => {
      const found: number[] = []
      for (let at = 0; at + detector.frame <= samples.length; at += detector.frame) {
        found.push(await detection.probability(samples.subarray(at, at + detector.frame)))
      }
      return found
    }
    const silent = await probabilities(new Int16Array(detector.rate))
    t.equal(Math.max(...silent), 0)
    const spoken = await probabilities(encodeTones('what is the weather in rome', detector.rate))
    t.equal(Math.min(...spoken), 1)
    detection.close()
    detection.close()
  })
}
