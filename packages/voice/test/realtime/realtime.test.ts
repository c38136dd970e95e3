import { createInProcessStores, type SessionMessage, type Stores } from '@svc/registry'
import { defineTool } from '@svc/runtime'
import { decodeTones } from '../../src/testing/tone-codec.ts'
import { Type } from '@sinclair/typebox'
import t from 'tap'
import { RealtimeCall, SESSION } from '../helpers/realtime/realtime-call.ts'
import { startRealtimeServer } from '../helpers/realtime/realtime-server.ts'

const join = (pieces: readonly Int16Array[]) => Int16Array.from(pieces.flatMap((piece) => [...piece]))

const load = async (stores: Stores): Promise<SessionMessage[]> => stores.sessions.load(SESSION, 100)

const weather = defineTool({
  name: 'weather',
  description: 'The weather of a city.',
  input: Type.Object({ city: Type.String() }),
  execute: ({ city }) => ({ sky: city === 'Rome' ? 'clear' : 'grey' })
})

t.test('turns are answered in order, by audio that says the text', async (t) => {
  const server = await startRealtimeServer(t, { reply: ({ text }) => ({ text: `You said ${text}.` }) })
  const stores = createInProcessStores()
  const call = await RealtimeCall.open(t, server.model, { context: { stores, sessionId: 's1' } })
  await call.ask('one')
  await call.ask('two')
  await call.ask('three')
  t.same(call.questions, ['one', 'two', 'three'])
  t.same(call.answers, ['You said one.', 'You said two.', 'You said three.'])
  t.equal(decodeTones(join(call.audio), 24_000), call.answers.join(' '))
  t.match(call.all('speech.start').length, 3)
  t.same(server.connections[0]?.errors, [])
  t.same(await load(stores), [
    { role: 'user', content: 'one' },
    { role: 'assistant', text: 'You said one.' },
    { role: 'user', content: 'two' },
    { role: 'assistant', text: 'You said two.' },
    { role: 'user', content: 'three' },
    { role: 'assistant', text: 'You said three.' }
  ])
  t.match(
    call.parts.filter(({ type }) => type === 'step'),
    [{ usage: { promptTokens: 10, completionTokens: 5, cachedPromptTokens: 4 }, model: undefined }, {}, {}]
  )
})

t.test('a turn is saved with its words, though they come after its answer', async (t) => {
  const late: (() => void)[] = []
  const server = await startRealtimeServer(t, {
    reply: () => ({ text: 'Yes.' }),
    tamper(event, connection) {
      if (event.type !== 'conversation.item.input_audio_transcription.completed' || late.length > 0)
        return [event]
      late.push(() => connection.send(event))
      return []
    }
  })
  const stores = createInProcessStores()
  const call = await RealtimeCall.open(t, server.model, {
    context: { stores, sessionId: 's1' },
    play(call) {
      call.engine.delivered({ ms: 0, text: '' })
      late[0]?.()
    }
  })
  await call.ask('really')
  t.same(await load(stores), [
    { role: 'user', content: 'really' },
    { role: 'assistant', text: 'Yes.' }
  ])
})

t.test('a turn without words is saved as one', async (t) => {
  const server = await startRealtimeServer(t, {
    reply: () => ({ text: 'Yes.' }),
    tamper: (event) => (event.type.includes('transcription') ? [] : [event])
  })
  const stores = createInProcessStores()
  const call = await RealtimeCall.open(t, server.model, {
    context: { stores, sessionId: 's1' },
    times: { transcription: 50 }
  })
  await call.ask('really')
  t.match(await load(stores), [{ content: '[speech without a transcript]' }, { text: 'Yes.' }])
})

t.test('tools are those of all agents, and several results lead to one response', async (t) => {
  const server = await startRealtimeServer(t, {
    reply: ({ items }) =>
      items.some(({ type }) => type === 'function_call_output')
        ? { text: items.flatMap(({ output = [] }) => output).join(' and ') }
        : {
            text: 'Wait.',
            calls: [
              { callId: 'c1', name: 'weather', args: '{"city":"Rome"}' },
              { callId: 'c2', name: 'weather', args: '{"city":"Oslo"}' },
              { callId: 'c3', name: 'weather', args: '{"city":7}' }
            ]
          }
  })
  const stores = createInProcessStores()
  const call = await RealtimeCall.open(t, server.model, {
    tools: [weather],
    instructions: 'Be brief.',
    context: { stores, sessionId: 's1' }
  })
  await call.ask('weather')
  t.match(call.answers, [/^Wait\.\{"sky":"clear"\} and \{"sky":"grey"\} and \{"error":".*city.*"\}$/])
  t.equal(server.received('response.create').length, 2)
  t.match(server.connections[0]?.session, {
    instructions: 'Be brief.',
    tools: [{ type: 'function', name: 'weather', parameters: { properties: { city: { type: 'string' } } } }]
  })
  t.match(
    call.parts.map(({ type }) => type).filter((type) => type.startsWith('tool')),
    ['tool.call', 'tool.call', 'tool.call', /^tool\.(result|error)$/, /^tool\.(result|error)$/, /^tool/]
  )
  t.match(await load(stores), [
    { role: 'user' },
    { role: 'assistant', text: 'Wait.', toolCalls: [{ toolCallId: 'c1' }, { toolCallId: 'c2' }, {}] },
    { role: 'tool', result: { sky: 'clear' } },
    { role: 'tool', result: { sky: 'grey' } },
    { role: 'tool', error: { code: 'RUN_ERR_TOOL_BAD_ARGS' } },
    { role: 'assistant' }
  ])
})

t.test('an interrupted answer ends where it was played, for the model and in the session', async (t) => {
  const server = await startRealtimeServer(t, {
    reply: ({ text }) => ({ text: text === 'long' ? 'alpha beta gamma delta' : 'Fine.' })
  })
  const stores = createInProcessStores()
  const call = await RealtimeCall.open(t, server.model, {
    context: { stores, sessionId: 's1' },
    play(call) {
      if (call.all('answer.end').length > 1) call.engine.delivered({ ms: 0, text: '' })
      else call.interrupt({ ms: 330, text: call.engine.textAt(330) })
    }
  })
  await call.ask('long')
  await call.ask('next')
  t.same(await load(stores), [
    { role: 'user', content: 'long' },
    { role: 'assistant', text: 'alpha beta', interrupted: true },
    { role: 'user', content: 'next' },
    { role: 'assistant', text: 'Fine.' }
  ])
  t.match(server.received('conversation.item.truncate'), [{ content_index: 0, audio_end_ms: 330 }])
  t.match(server.connections[0]?.items[1], { role: 'assistant', text: 'alpha beta ' })
  t.same(server.connections[0]?.errors, [])
})

t.test(
  'an answer that is interrupted while it is generated is canceled; the next one waits for its end',
  async (t) => {
    const server = await startRealtimeServer(t, {
      reply: ({ text }) => (text === 'long' ? { text: 'alpha beta', hangs: true } : { text: 'Fine.' })
    })
    const call = await RealtimeCall.open(t, server.model)
    const audio = call.next('audio', 2)
    call.speak('long')
    await audio
    const interrupted = call.next('response.end')
    call.interrupt({ ms: 60, text: 'al' })
    await interrupted
    await call.ask('next')
    t.equal(call.answers[1], 'Fine.')
    t.same(server.connections[0]?.errors, [])
    t.equal(server.received('response.cancel').length, 1)
  }
)

t.test('a tool outlives an interruption: its result is in the next response', async (t) => {
  const begun = Promise.withResolvers<void>()
  const result = Promise.withResolvers<string>()
  const slow = defineTool({
    name: 'slow',
    description: 'Takes its time.',
    input: Type.Object({}),
    execute() {
      begun.resolve()
      return result.promise
    }
  })
  const server = await startRealtimeServer(t, {
    reply: ({ text, items }) =>
      text === 'go'
        ? { calls: [{ callId: 'c1', name: 'slow', args: '{}' }] }
        : { text: items.find(({ output }) => output)?.output ?? 'nothing' }
  })
  const call = await RealtimeCall.open(t, server.model, { tools: [slow] })
  call.speak('go')
  await begun.promise
  const end = call.next('response.end')
  call.interrupt({ ms: 0, text: '' })
  result.resolve('done')
  await end
  await call.ask('so')
  t.equal(call.answers[1], '"done"')
  t.same(server.connections[0]?.errors, [])
})

t.test('a call begins with the conversation of its session, and sees what others add to it', async (t) => {
  const server = await startRealtimeServer(t, {
    reply: ({ items }) => ({
      text: items
        .map(({ role, text, output, name }) => `${role ?? name ?? 'result'}:${text ?? output ?? ''}`)
        .join('|')
    })
  })
  const stores = createInProcessStores()
  await stores.sessions.append(SESSION, 't1', [
    { role: 'user', content: 'hi' },
    { role: 'assistant', text: '', toolCalls: [{ toolCallId: 'c9', toolName: 'weather', args: {} }] },
    { role: 'tool', toolCallId: 'c9', toolName: 'weather', result: 'grey' },
    { role: 'assistant', text: 'hello' }
  ])
  const call = await RealtimeCall.open(t, server.model, { context: { stores, sessionId: 's1' } })
  await call.ask('one')
  t.equal(call.answers[0], 'user:hi|weather:|result:"grey"|assistant:hello|user:one')
  await stores.sessions.append(SESSION, 't2', [
    { role: 'user', content: 'typed' },
    { role: 'assistant', text: 'seen' }
  ])
  await call.ask('two')
  t.match(call.answers[1], /\|user:one\|assistant:[^]*\|user:typed\|assistant:seen\|user:two$/)
  t.same(server.connections[0]?.errors, [])
})

t.test('turns in writing, turns that the client ends, and texts of the call', async (t) => {
  const server = await startRealtimeServer(t, {
    reply: ({ text, own = '' }) => ({ text: /: "(.*)"$/.exec(own)?.[1] ?? `You said ${text}.` })
  })
  const call = await RealtimeCall.open(t, server.model, { settings: { turns: { detect: false } } })
  t.equal(server.connections[0]?.session['audio'].input.turn_detection, null)
  const said = call.next('said')
  call.engine.say('Hello!')
  await said
  const written = call.next('response.end')
  call.write('w1', 'typed')
  await written
  const spoken = call.next('response.end')
  call.speak('spoken')
  call.engine.commit('u1')
  await spoken
  t.same(call.answers, ['You said typed.', 'You said spoken.'])
  t.same(
    call.all('turn').map(({ itemId }) => itemId),
    ['w1', 'u1']
  )
  t.equal(
    decodeTones(join(call.all('audio').flatMap((each) => (each.of === 'say' ? [each.samples] : []))), 24_000),
    'Hello!'
  )
})

t.test('options of the provider are merged into those of the call', async (t) => {
  const server = await startRealtimeServer(t, { reply: () => ({ text: 'Yes.' }) })
  await RealtimeCall.open(t, server.model, {
    voice: 'coral',
    language: 'de',
    providerOptions: {
      openai: { audio: { output: { speed: 1.2 }, input: { turn_detection: { eagerness: 'low' } } } },
      google: { other: true }
    }
  })
  t.match(server.connections[0]?.session, {
    audio: {
      output: { voice: 'coral', speed: 1.2, format: { type: 'audio/pcm', rate: 24_000 } },
      input: {
        transcription: { language: 'de' },
        turn_detection: {
          type: 'server_vad',
          eagerness: 'low',
          silence_duration_ms: 100,
          create_response: false,
          interrupt_response: false
        }
      }
    }
  })
  t.notMatch(server.connections[0]?.session, { google: {} })
  t.notMatch(server.connections[0]?.session, { openai: {} })
})

t.test('the model may depend on the caller’s key, and settings may change', async (t) => {
  const server = await startRealtimeServer(t, { reply: () => ({ text: 'Yes.' }) })
  const call = await RealtimeCall.open(
    t,
    ({ apiKey, provider }) => {
      t.same([apiKey, provider], [undefined, 'openai'])
      return server.model
    },
    { provider: 'openai' }
  )
  t.equal(server.connections[0]?.headers.authorization, 'Bearer sk-test-4711aB')
  call.engine.configure({ voice: 'sage', turns: { silence: 150 }, instructions: 'Sing.' })
  await call.ask('one')
  t.match(server.connections[0]?.session, {
    instructions: 'Sing.',
    audio: { output: { voice: 'sage' }, input: { turn_detection: { silence_duration_ms: 150 } } }
  })
})
