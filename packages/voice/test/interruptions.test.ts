import { defineTool } from '@svc/runtime'
import { decodeTones } from '../src/testing/tone-codec.ts'
import { type TestVoiceLink } from '../src/testing/voice-link.ts'
import t from 'tap'
import { startCall, type CallOptions } from './helpers/start-call.ts'

t.setTimeout(20_000)

const LONG =
  'The weather in Rome is sunny and warm today. Tomorrow it will rain in the morning. Then it clears.'

/** Loud, but no speech that a transcription reads. */
function noise(ms: number): Int16Array {
  return Int16Array.from({ length: 24 * ms }, (_, at) => Math.sin(at / 5) * 8_000)
}

/** A call whose answer was played for a time. */
async function speaking(scope: Parameters<typeof startCall>[0], ms: number, options: CallOptions = {}) {
  const call = await startCall(scope, {
    script: [LONG, 'As you like.'],
    ...options,
    link: { playback: 'reports', ...options.link }
  })
  const { link } = call
  link.speak('how is the weather')
  const { itemId } = await link.next('answer.end')
  link.played(itemId, ms)
  return { ...call, itemId }
}

/** What the audio of an answer says up to a time. */
function saidBy(link: TestVoiceLink, itemId: string, ms: number): string {
  return decodeTones(link.audioOf(itemId).subarray(0, Math.round(ms * 24)), 24_000)
}

function isWithinOneWord(text: string, said: string): boolean {
  const missing = said.slice(text.length).trim()
  return said.startsWith(text) && !missing.includes(' ')
}

t.test(
  'the user interrupts: the client discards the rest, and the session keeps what was played',
  async (t) => {
    const { link, run, itemId, parts, session } = await speaking(t, 1_000)
    link.speak('stop it please')
    const { heardMs, text } = await link.next('clear')
    t.ok(heardMs >= 1_000 && heardMs < 1_200, `${heardMs}`)
    t.ok(isWithinOneWord(text, saidBy(link, itemId, heardMs)), text)
    t.match(await link.next('transcript', ({ final }) => final), { text: 'stop it please' })
    const { text: next, itemId: nextId } = await link.next('answer.end')
    t.equal(next, 'As you like.')
    link.played(nextId, 10_000)
    await link.next('state', ({ state }) => state === 'listening')
    link.hangUp()
    t.match(await run.result(), { text: 'As you like.' })
    const turns = (await parts()).filter(({ type }) => type === 'voice.turn')
    t.match(turns, [
      { index: 0, status: 'interrupted', text, heardMs },
      { index: 1, status: 'completed' }
    ])
    t.match(await session(), [
      { role: 'user', content: 'how is the weather' },
      { role: 'assistant', text, interrupted: true },
      { role: 'user', content: 'stop it please' },
      { role: 'assistant', text: 'As you like.' }
    ])
  }
)

t.test('a false alarm: the answer is resumed where it was stopped', async (t) => {
  const { link, run, itemId, session } = await speaking(t, 1_000)
  link.microphone(noise(400))
  const { heardMs } = await link.next('clear')
  link.silence(800)
  const { startMs } = await link.next('audio')
  t.ok(Math.abs(startMs - heardMs) < 1, 'no sample is lost or repeated')
  link.played(itemId, 60_000)
  await link.next('state', ({ state }) => state === 'listening')
  t.equal(decodeTones(link.audioOf(itemId), 24_000), LONG.replaceAll(/(?<=\.) /g, ' '))
  link.hangUp()
  await run.result()
  t.match(await session(), [{ role: 'user' }, { role: 'assistant', text: LONG }])
})

t.test('speech that is too short does not interrupt', async (t) => {
  const { link } = await speaking(t, 500)
  link.microphone(noise(120))
  link.silence(800)
  link.push({ type: 'cancel' })
  await link.next('clear')
  t.equal(link.all('clear').length, 1, 'that of the cancel')
})

t.test('with `words`, it takes as many to interrupt', async (t) => {
  const { link } = await speaking(t, 500, { voice: { turns: { interrupt: { words: 2 } } } })
  link.speak('hm-hm', 800)
  await link.next('transcript', ({ final }) => final)
  t.equal(link.all('clear').length, 0)
  link.speak('stop it please')
  t.match(await link.next('clear'), { text: /^The/ })
})

t.test('an agent or a client may turn interruptions off', async (t) => {
  const { link, itemId } = await speaking(t, 500, { voice: { turns: { interrupt: false } } })
  link.speak('stop it please')
  await link.next('transcript', ({ final }) => final)
  t.equal(link.all('clear').length, 0)
  link.played(itemId, 60_000)
  t.match(await link.next('answer.end'), { text: 'As you like.' })
})

t.test('a tool outlives the interruption, and its result is in the next answer', async (t) => {
  const done = Promise.withResolvers<string>()
  const began = Promise.withResolvers<void>()
  const book = defineTool({
    name: 'book',
    description: 'Books a table',
    input: { type: 'object' },
    execute: () => {
      began.resolve()
      return done.promise
    }
  })
  const prompts: string[] = []
  const { link, run, session } = await startCall(t, {
    script: ({ prompt }, index) => {
      prompts.push(JSON.stringify(prompt))
      return index === 0
        ? { text: 'Let me book that table for you.', toolCalls: [{ toolName: 'book' }] }
        : 'Never mind.'
    },
    agent: { tools: [book] },
    link: { playback: 'reports' }
  })
  link.speak('book me a table')
  const { itemId } = await link.next('audio')
  await began.promise
  link.played(itemId, 300)
  link.speak('wait a moment')
  t.match(await link.next('transcript', ({ final }) => final), { text: 'wait a moment' })
  t.match(await link.next('response.end'), { status: 'interrupted' })
  t.equal(prompts.length, 1, 'the model waits for the tool')
  done.resolve('table 7')
  t.match(await link.next('answer.end'), { text: 'Never mind.' })
  t.equal(prompts.length, 2, 'no step after the interruption')
  t.match(prompts[1], 'table 7')
  link.hangUp()
  await run.result()
  t.match(await session(), [
    { role: 'user', content: 'book me a table' },
    { role: 'assistant', interrupted: true, toolCalls: [{ toolName: 'book' }] },
    { role: 'tool' },
    { role: 'user', content: 'wait a moment' }
  ])
})

t.test('a client cuts an answer itself, exactly where it stopped', async (t) => {
  const { link, run, itemId, parts } = await speaking(t, 1_500)
  link.push({ type: 'cancel' })
  link.push({ type: 'truncate', itemId, heardMs: 1_234 })
  const { text } = await link.next('truncated')
  t.ok(isWithinOneWord(text, saidBy(link, itemId, 1_234)), text)
  link.hangUp()
  await run.result()
  t.match(
    (await parts()).find(({ type }) => type === 'voice.turn'),
    { status: 'interrupted', heardMs: 1_234, text }
  )
  t.match(link.all('response.end'), [{ status: 'completed' }])
})

t.test('an answer is canceled while it is generated', async (t) => {
  const { link } = await startCall(t, {
    script: { text: LONG.split(/(?<= )/), delay: 5 },
    link: { playback: 'reports' }
  })
  link.speak('how is the weather')
  await link.next('audio')
  link.push({ type: 'cancel' })
  t.match(await link.next('response.end'), { status: 'canceled' })
})

t.test('the user hangs up: the session keeps what was played', async (t) => {
  const { link, run, itemId, session } = await speaking(t, 1_000)
  link.hangUp()
  t.match(await run.result(), { finishReason: 'stop' })
  const [, answer] = await session()
  t.match(answer, { role: 'assistant', interrupted: true })
  const { text } = answer as { text: string }
  t.ok(text.length > 10 && isWithinOneWord(text, saidBy(link, itemId, 1_100)), text)
})

t.test('a run that is canceled hangs up, too', async (t) => {
  const { run, session } = await speaking(t, 1_000)
  await run.cancel()
  t.match(await run.result(), { finishReason: 'canceled' })
  t.match((await session())[1], { role: 'assistant', interrupted: true, text: /^The/ })
})

t.test('nothing is played while the client is away', async (t) => {
  const { link, itemId } = await speaking(t, 500)
  link.push({ type: 'away' })
  const before = performance.now()
  while (performance.now() - before < 300) await new Promise((resolve) => setTimeout(resolve, 50))
  link.push({ type: 'back' })
  link.push({ type: 'cancel' })
  const { heardMs } = await link.next('clear')
  t.ok(heardMs < 700, `${heardMs}`)
  t.ok(itemId)
})

t.test('an interrupted greeting shows what was played of it, and is no part of the session', async (t) => {
  const greeting = 'Welcome to the desk for the weather. You can ask about every city.'
  const { link, run, session } = await startCall(t, {
    voice: { greeting },
    link: { playback: 'reports' }
  })
  const { itemId } = await link.next('answer.end')
  link.played(itemId, 1_000)
  link.speak('how are you')
  const { heardMs, text } = await link.next('clear')
  t.ok(isWithinOneWord(text, saidBy(link, itemId, heardMs)), text)
  t.match(text, /^Welcome to the/)
  link.push({ type: 'truncate', itemId, heardMs: 1_000 })
  const { text: kept } = await link.next('truncated')
  t.ok(isWithinOneWord(kept, saidBy(link, itemId, 1_000)), kept)
  t.match(kept, /^Welcome to/)
  t.match(await link.next('answer.end'), { text: 'Hello there.' })
  link.hangUp()
  await run.result()
  t.strictSame((await session())[0], { role: 'user', content: 'how are you' })
})
