import { setTimeout as pause } from 'node:timers/promises'
import { defineRunnable } from '@svc/registry'
import { toneSpeech } from '../src/testing/tone-speech.ts'
import { toneTranscription } from '../src/testing/tone-transcription.ts'
import t from 'tap'
import { startCall, type CallOptions } from './helpers/start-call.ts'

t.setTimeout(20_000)

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
const listening = ({ state }: { state: string }) => state === 'listening'

t.test(
  'a transcription that fails in any way leaves a code, a failed turn, and a call that continues',
  async (t) => {
    for (const [fault, code] of [
      [{ rejects: new Error('key sk-123 is wrong') }, 'RUN_ERR_MODEL_FAILED'],
      [{ hangs: true }, 'VOICE_ERR_TRANSCRIPTION_TIMEOUT']
    ] as const) {
      const broken = new Set([0, 1, 2])
      const { link, run, parts } = await startCall(t, {
        voice: {
          listen: toneTranscription({
            streams: false,
            calls: (index) => (broken.has(index) ? fault : undefined)
          }),
          timeout: { transcription: 60 }
        }
      })
      link.speak('can you read me')
      const { message } = await link.next('transcript.failed', (failed) => failed.code === code)
      t.notMatch(message, 'sk-123')
      broken.clear()
      link.speak('and now')
      t.match(await link.next('answer.end'), { text: 'Hello there.' })
      await link.next('state', listening)
      link.hangUp()
      await run.result()
      t.match(
        (await parts()).filter(({ type }) => type === 'voice.turn'),
        [
          { status: 'failed', index: 0 },
          { status: 'completed', index: 1 }
        ]
      )
    }
  }
)

t.test(
  'a speech model that fails in any way ends the answer with a code; the next one is spoken',
  async (t) => {
    for (const [fault, code] of [
      [{ rejects: new Error('key sk-123 is wrong') }, 'RUN_ERR_MODEL_FAILED'],
      [{ hangs: true }, 'VOICE_ERR_SPEECH_TIMEOUT'],
      [{ audio: Buffer.from('no audio at all') }, 'VOICE_ERR_SPEECH_UNREADABLE']
    ] as const) {
      const broken = { from: 1 }
      const { link, run, parts, session } = await startCall(t, {
        script: 'This is a sentence. This is another one.',
        voice: {
          speak: toneSpeech({ streams: false, calls: (index) => (index >= broken.from ? fault : undefined) }),
          timeout: { speech: 60 }
        }
      })
      link.speak('how are you')
      const { error } = await link.next('response.end', ({ status }) => status === 'failed')
      t.equal(error?.code, code)
      t.notMatch(error?.message, 'sk-123')
      await link.next('state', listening)
      broken.from = Infinity
      link.speak('and now')
      t.match(await link.next('response.end'), { status: 'completed' }, code)
      await link.next('state', listening)
      link.hangUp()
      await run.result()
      t.match(
        (await parts()).filter(({ type }) => type === 'voice.turn'),
        [{ status: 'failed', text: /^This is a sentence. $/ }, { status: 'completed' }]
      )
      t.match(await session(), [
        { role: 'user' },
        { role: 'assistant', text: /^This is a sentence. $/, interrupted: true },
        { role: 'user', content: 'and now' },
        { role: 'assistant' }
      ])
    }
  }
)

t.test('a model that fails ends its response with a code, and the call continues', async (t) => {
  const { link } = await startCall(t, {
    script: (_, index) => (index < 1 ? { rejects: new TypeError('boom') } : 'Here I am.'),
    agent: { retry: { attempts: 1 } }
  })
  link.speak('how are you')
  t.match(await link.next('response.end'), { status: 'failed', error: { code: 'RUN_ERR_MODEL_FAILED' } })
  link.speak('once again please')
  t.match(await link.next('answer.end'), { text: 'Here I am.' })
})

t.test('a model that breaks off: what it said is spoken and kept', async (t) => {
  const { link, run, session } = await startCall(t, {
    agent: { retry: { attempts: 1 } },
    script: (_, index) =>
      index === 0 ? { text: 'The weather is fine. And', breaks: new Error('cut') } : 'Here I am.'
  })
  link.speak('how are you')
  t.match(await link.next('answer.end'), { text: 'The weather is fine. And' })
  t.match(await link.next('error'), { code: 'RUN_ERR_MODEL_STREAM_BROKEN' })
  link.speak('and now')
  t.match(await link.next('answer.end'), { text: 'Here I am.' })
  link.hangUp()
  await run.result()
  t.match(await session(), [{ role: 'user' }, { role: 'assistant', text: /^The weather is fine./ }, {}, {}])
})

t.test(
  'any runnable answers; one that knows nothing of interruptions is ended when it is interrupted',
  async (t) => {
    const ended = Promise.withResolvers<unknown>()
    const talker = defineRunnable({
      kind: 'workflow',
      name: 'talker',
      async *stream(_input, context) {
        try {
          for (let count = 1; ; count++) {
            yield { type: 'text', text: `This is number ${count}. ` }
            await new Promise((resolve) => setTimeout(resolve, 20))
          }
        } finally {
          ended.resolve(context.signal.aborted)
        }
      }
    })
    const { link } = await startCall(t, { answer: talker, link: { playback: 'reports' } })
    link.speak('please count')
    await link.next('audio')
    link.speak('stop it please')
    t.match(await link.next('response.end'), { status: 'interrupted' })
    t.equal(await ended.promise, true)
  }
)

t.test('silence of both sides ends a call, and so does its time', async (t) => {
  const idle = await startCall(t, { voice: { idle: 60 } })
  t.match(await idle.link.next('error'), { code: 'VOICE_ERR_IDLE' })
  t.match(await idle.run.result(), { finishReason: 'stop' })
  const late = await startCall(t, { voice: { timeout: { call: 60 } } })
  t.match(await late.link.next('error'), { code: 'VOICE_ERR_CALL_TIMEOUT' })
  t.match(await late.run.result(), { finishReason: 'stop' })
})

t.test('a detector or a model function that fails fails the call with its code', async (t) => {
  const failing: CallOptions['voice'][] = [
    { turns: { detect: { rate: 16_000, frame: 320, create: () => Promise.reject(new Error('no memory')) } } },
    { listen: () => Promise.reject(new Error('no key')) },
    { speak: () => 'a string' as never }
  ]
  for (const voice of failing) {
    const { run } = await startCall(t, { voice: voice! })
    await t.rejects(run.result(), { code: /^RUN_ERR_(?:FAILED|BAD_MODEL)$/ })
  }
})

t.test('nothing is left after calls that end in any way', async (t) => {
  const before = timers()
  for (let index = 0; index < 20; index++) {
    const { link, run } = await startCall(t, { link: { playback: 'reports' } })
    link.speak('how are you')
    if (index % 4 !== 0) await link.next(index % 2 === 0 ? 'audio' : 'response.start')
    if (index % 3 === 0) await run.cancel()
    else link.hangUp()
    await run.result()
  }
  // What ends a call's last timers may come late on a busy machine.
  for (let turns = 0; timers() > before && turns < 1_000; turns++) await pause(10)
  t.ok(timers() <= before, `${timers()} timers, ${before} before`)
})
