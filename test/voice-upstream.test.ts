import { createOpenAI } from '@ai-sdk/openai'
import { Type } from '@sinclair/typebox'
import { createRegistry, createRunEngine, defineRunnable } from '@svc/registry'
import { defineTool } from '@svc/runtime'
import { decodeTones, voiceLink } from '@svc/voice/testing'
import { type Script } from '@svc/runtime/testing'
import { VoiceAgent, type RealtimeOptions } from '@svc/voice'
import t, { type Test } from 'tap'
import { servePhone } from './helpers/serve-voice.ts'

t.setTimeout(60_000)

// The endpoint takes ten seconds of audio at once.
const SILENCE = 300

const listening = ({ state }: { state: string }) => state === 'listening'

// Half a minute of speech: it is still playing when the user interrupts it, however slow the machine is.
const LONG = 'One two three four five six seven eight nine ten. '.repeat(20).trim()

/** Answers the last message: `use` calls a tool, and `long` takes long. */
const script: Script = ({ prompt }) => {
  const last = prompt.at(-1)!
  const text = JSON.stringify(last.content)
  if (last.role === 'tool') return `It is ${/\d+/.exec(text.slice(text.indexOf('output')))?.[0]}.`
  if (text.includes('use')) return { toolCalls: [{ toolName: 'count', args: {} }] }
  return text.includes('long') ? LONG : 'Fine.'
}

/** A call of a realtime agent whose model is a voice agent, over our own endpoint of the Realtime protocol. */
async function startCall(t: Test, voice: Partial<RealtimeOptions> = {}) {
  const { app, origin } = await servePhone(t, script)
  const openai = createOpenAI({ baseURL: `${origin}/v1`, apiKey: 'none' })
  const live = new VoiceAgent({
    name: 'live',
    registry: createRegistry(),
    turns: { silence: 200 },
    model: openai.experimental_realtime('phone', { api: 'realtime' }),
    ...voice
  })
  const engine = createRunEngine({ drainTimeout: 0 })
  t.teardown(() => engine.close())
  const link = voiceLink({ playback: 'reports' })
  const call = defineRunnable({
    kind: 'agent',
    name: 'live',
    stream: (_input, context) => live.converse(link, context)
  })
  const run = await engine.start(call, 'call')
  return { app, link, run }
}

t.test('our realtime engine holds a call with our own endpoint', async (t) => {
  let count = 0
  const counter = defineTool({
    name: 'count',
    description: 'Counts.',
    input: Type.Object({}),
    execute: () => ({ count: ++count })
  })
  const { link, run } = await startCall(t, { tools: [counter] })
  const answer = async (question: string) => {
    link.speak(question, SILENCE)
    const { itemId, text, durationMs } = await link.next('answer.end')
    t.equal(decodeTones(link.audioOf(itemId), 24_000), text)
    link.played(itemId, durationMs)
    await link.next('state', listening)
    return text
  }
  for (let turn = 1; turn <= 4; turn++) {
    t.equal(await answer('how are you'), 'Fine.')
    t.equal(await answer('use the tool'), `It is ${turn}.`)
  }
  link.speak('tell a long one', SILENCE)
  const { itemId } = await link.next('answer.end')
  link.played(itemId, 700)
  link.speak('thank you', SILENCE)
  const { heardMs, text } = await link.next('clear')
  const said = decodeTones(link.audioOf(itemId).subarray(0, Math.round(heardMs * 24)), 24_000)
  t.ok(heardMs >= 700 && LONG.startsWith(text), text)
  // The word that was cut counts if most of it was played.
  t.ok(Math.abs(said.length - text.length) < 'seven '.length, `${said}|${text}`)
  const last = await link.next('answer.end')
  t.equal(last.text, 'Fine.')
  link.played(last.itemId, last.durationMs)
  await link.next('state', listening)
  link.hangUp()
  t.match(await run.result(), { finishReason: 'stop' })
  t.equal(link.all('error').length, 0)
  t.equal(link.all('transcript').filter(({ final }) => final).length, 10)
})
