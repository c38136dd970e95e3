import { RealtimeAgent, RealtimeSession, tool, type RealtimeItem } from '@openai/agents-realtime'
import t from 'tap'
import { z } from 'zod'
import { buildRealtime } from '../helpers/build-realtime.ts'
import { createDesk, silence } from '../helpers/desk-voice.ts'

type Test = { teardown(fn: () => unknown): unknown }

/** A session with two tools in the client, connected to a desk. */
async function connect(t: Test) {
  const desk = createDesk()
  const { host } = await buildRealtime(t, { runnables: [desk.voice] })
  const used: string[] = []
  const clock = tool({
    name: 'clock',
    description: 'The time',
    parameters: z.object({ of: z.string() }),
    execute: ({ of }) => {
      used.push(of)
      return 'noon'
    }
  })
  const weather = tool({
    name: 'weather',
    description: 'The weather',
    parameters: z.object({ of: z.string() }),
    execute: ({ of }) => {
      used.push(of)
      return { sky: 'blue' }
    }
  })
  const agent = new RealtimeAgent({ name: 'helper', instructions: 'Be brief.', tools: [clock, weather] })
  const session = new RealtimeSession(agent, { transport: 'websocket', model: 'desk' })
  t.teardown(() => session.close())
  const errors: unknown[] = []
  session.on('error', (err) => errors.push(err))
  await session.connect({ apiKey: 'none', url: `ws://${host}/v1/realtime?model=desk` })
  const answer = () =>
    new Promise<string>((resolve) => session.once('agent_end', (_c, _a, text) => resolve(text)))
  const history = () => session.history as RealtimeItem[]
  return { desk, session, used, errors, answer, history }
}

t.test('the session of the client is that of the call', async (t) => {
  const { desk, session, answer } = await connect(t)
  const answered = answer()
  session.sendMessage('Hi')
  await answered
  t.match(desk.links[0]?.settings, {
    input: { type: 'audio/pcm', rate: 24_000 },
    modality: 'audio',
    instructions: 'Be brief.',
    tools: [
      { name: 'clock', description: 'The time', input: { type: 'object', required: ['of'] } },
      { name: 'weather' }
    ],
    turns: { detect: true, respond: true, interrupt: true }
  })
})

t.test('messages and speech are in the history, in order, with transcripts', async (t) => {
  const { session, answer, history, errors } = await connect(t)
  let answered = answer()
  session.sendMessage('Good morning')
  t.equal(await answered, 'Good morning')
  answered = answer()
  const audio = silence(300)
  session.sendAudio(audio.buffer as ArrayBuffer, { commit: true })
  t.equal(await answered, '300 ms')
  t.match(history(), [
    { role: 'user', content: [{ type: 'input_text', text: 'Good morning' }] },
    {
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_audio', transcript: 'Good morning' }]
    },
    { role: 'user', content: [{ type: 'input_audio', transcript: '300 ms' }] },
    { role: 'assistant', content: [{ type: 'output_audio', transcript: '300 ms' }] }
  ])
  t.strictSame(errors, [])
})

t.test('tools run in the client, in parallel; the answer has the results of all', async (t) => {
  const { session, used, errors, history } = await connect(t)
  const spoken = new Promise<string>((resolve) =>
    session.on('agent_end', (_context, _agent, text) => void (text !== '' && resolve(text)))
  )
  session.sendMessage('use clock,weather')
  t.equal(await spoken, '"noon" and {"sky":"blue"}')
  t.strictSame(used.toSorted(), ['clock', 'weather'])
  t.match(
    history().filter((item) => item.type === 'function_call'),
    [
      { name: 'clock', output: 'noon' },
      { name: 'weather', output: '{"sky":"blue"}' }
    ]
  )
  t.strictSame(errors, [])
})

t.test('an interruption stops the audio; the history has what was played', async (t) => {
  const { desk, session, answer, history, errors } = await connect(t)
  const audio = new Promise<void>((resolve) => session.once('audio', () => resolve()))
  const interrupted = new Promise<void>((resolve) => session.once('audio_interrupted', () => resolve()))
  session.sendMessage('long')
  await audio
  const answered = answer()
  await desk.interrupt(120, 'lo')
  await Promise.all([interrupted, answered])
  const isCut = () => JSON.stringify(history()).includes('"cut"')
  while (!isCut()) await new Promise<void>((resolve) => session.once('history_updated', () => resolve()))
  t.match(history()[1], { role: 'assistant', status: 'incomplete', content: [{ transcript: 'cut' }] })
  t.match(desk.inputs.at(-1), { type: 'truncate', itemId: String })
  t.strictSame(errors, [])
})
