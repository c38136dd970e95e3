import { createInProcessStores, createRunEngine, type FileStore, type RunInput } from '@svc/registry'
import { decodeTones, encodeTones } from '../src/testing/tone-codec.ts'
import { toneTranscription } from '../src/testing/tone-transcription.ts'
import t from 'tap'
import { readWav, writeWav } from '../src/audio/wav.ts'
import { makeVoice, startCall, type CallOptions } from './helpers/start-call.ts'

t.setTimeout(20_000)

function spoken(text: string) {
  const data = Buffer.from(writeWav({ samples: encodeTones(text, 16_000), rate: 16_000 })).toString('base64')
  return { type: 'audio' as const, mimeType: 'audio/wav', data }
}

async function readFile(files: FileStore | undefined, runId: string, fileId: string): Promise<string> {
  const found = await files!.get(runId, fileId)
  const chunks = await Array.fromAsync(found!.content)
  const { samples, rate } = readWav(Buffer.concat(chunks))
  return decodeTones(samples, rate)
}

async function send(
  scope: typeof t | Parameters<typeof startCall>[0],
  input: RunInput,
  options?: CallOptions
) {
  const stores = createInProcessStores()
  const engine = createRunEngine({ stores, drainTimeout: 0 })
  scope.teardown(() => engine.close())
  const run = await engine.start(makeVoice(options), input)
  return { run, stores }
}

t.test('a voice message is a call of one answer, which is an audio file', async (t) => {
  const { run, stores } = await send(t, [spoken('what is the time')], {
    script: ({ prompt }) => (JSON.stringify(prompt).includes('what is the time') ? 'It is ten.' : 'What?')
  })
  const result = await run.result()
  t.match(result, { text: 'It is ten.', finishReason: 'stop' })
  const parts = await Array.fromAsync(run.parts())
  const audio = parts.find((part) => part.type === 'voice.audio')!
  t.match(audio, { role: 'assistant', mimeType: 'audio/wav' })
  t.equal(await readFile(stores.files, run.runId, audio.fileId), 'It is ten.')
  t.match(result.files, [{ fileId: audio.fileId, mimeType: 'audio/wav', size: audio.size }])
  t.match(
    parts.find((part) => part.type === 'voice.transcript'),
    { text: 'what is the time' }
  )
})

t.test('a message may be a text, or both', async (t) => {
  const text = await send(t, 'hello', { script: ({ prompt }) => JSON.stringify(prompt.at(-1)?.content) })
  t.match(await text.run.result(), { text: /hello/ })
  const both = await send(t, [{ type: 'text', text: 'look at this' }, spoken('and read this')], {
    script: ({ prompt }) => JSON.stringify(prompt.at(-1)?.content)
  })
  t.match(await both.run.result(), { text: /look at this.*and read this/ })
})

t.test('what cannot be a turn is refused with a code', async (t) => {
  const image = { type: 'image' as const, mimeType: 'image/png', data: 'AAAA' }
  await t.rejects((await send(t, [image])).run.result(), { code: 'VOICE_ERR_BAD_MESSAGE' })
  const silence = {
    ...spoken(''),
    data: Buffer.from(writeWav({ samples: new Int16Array(8_000), rate: 8_000 })).toString('base64')
  }
  await t.rejects((await send(t, [silence])).run.result(), { code: 'VOICE_ERR_NOTHING_TO_ANSWER' })
  const broken = {
    voice: { listen: toneTranscription({ calls: { hangs: true } }), timeout: { transcription: 50 } }
  }
  await t.rejects((await send(t, [spoken('hello')], broken)).run.result(), {
    code: 'VOICE_ERR_TRANSCRIPTION_TIMEOUT'
  })
  const failing = { script: { rejects: new TypeError('no') }, agent: { retry: { attempts: 1 } } }
  await t.rejects((await send(t, [spoken('hello')], failing)).run.result(), { code: 'RUN_ERR_MODEL_FAILED' })
})

t.test('it runs without an engine, too', async (t) => {
  t.match(await makeVoice({ script: 'Hi.' }).run([spoken('hello')]), { text: 'Hi.' })
})

t.test('a call is recorded only if the agent says so, and its client is notified', async (t) => {
  const { link, run, parts, stores } = await startCall(t, { voice: { record: true } })
  await link.next('recording')
  link.speak('how are you today')
  const { itemId } = await link.next('answer.end')
  await link.next('state', ({ state }) => state === 'listening')
  link.hangUp()
  await run.result()
  const kept = (await parts()).filter((part) => part.type === 'voice.audio')
  t.match(kept, [{ role: 'user' }, { role: 'assistant', itemId }])
  const texts = await Promise.all(kept.map(({ fileId }) => readFile(stores.files, run.runId, fileId)))
  t.strictSame(texts, ['how are you today', 'Hello there.'])
  const other = await startCall(t)
  other.link.speak('how are you')
  await other.link.next('answer.end')
  other.link.hangUp()
  await other.run.result()
  t.equal((await other.parts()).filter(({ type }) => type === 'voice.audio').length, 0)
  t.equal(other.link.all('recording').length, 0)
})
