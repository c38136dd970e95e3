import { defineTool } from '@svc/runtime'
import { createInProcessStores } from '@svc/registry'
import { Type } from '@sinclair/typebox'
import t from 'tap'
import { startGeminiServer } from '../helpers/realtime/gemini-server.ts'
import { RealtimeCall, SESSION } from '../helpers/realtime/realtime-call.ts'

const say = (text: string) => ({ text: `You said ${text}.` })

t.test('a provider that answers by itself, without items', async (t) => {
  for (const transcribesLate of [false, true]) {
    const server = await startGeminiServer(t, { reply: say, transcribesLate })
    const stores = createInProcessStores()
    await stores.sessions.append(SESSION, 't1', [
      { role: 'user', content: 'hi' },
      { role: 'assistant', text: 'hello' }
    ])
    const call = await RealtimeCall.open(t, server.model, {
      instructions: 'Be brief.',
      context: { stores, sessionId: 's1' }
    })
    t.match(
      server.connections[0]?.setup.systemInstruction?.parts[0]?.text,
      /^Be brief\.[^]*User: hi\nAssistant: hello$/
    )
    await call.ask('one')
    await call.ask('two')
    const written = call.next('response.end')
    call.write('w1', 'three')
    await written
    t.same(call.answers, ['You said one.', 'You said two.', 'You said three.'])
    t.match(call.all('response.end'), [{ usage: { promptTokens: 7 } }, {}, {}])
    const messages = await stores.sessions.load(SESSION, 100)
    t.same(
      messages.slice(2).map((message) => (message.role === 'user' ? message.content : undefined)),
      ['one', undefined, 'two', undefined, 'three', undefined]
    )
  }
})

t.test('its tools are ours', async (t) => {
  const server = await startGeminiServer(t, {
    reply: () => ({ call: { id: 'c1', name: 'weather', args: { city: 'Rome' } } })
  })
  const weather = defineTool({
    name: 'weather',
    description: 'The weather.',
    input: Type.Object({ city: Type.String() }),
    execute: ({ city }) => ({ [city]: 'clear' })
  })
  const call = await RealtimeCall.open(t, server.model, { tools: [weather] })
  await call.ask('weather')
  t.same(call.answers, ['{"Rome":"clear"}'])
  t.same(server.connections[0]?.received, [{ Rome: 'clear' }])
  t.match(server.connections[0]?.setup.tools, [{ functionDeclarations: [{ name: 'weather' }] }])
})

t.test('it is interrupted by itself, and the next answer is another one', async (t) => {
  const server = await startGeminiServer(t, {
    reply: (text) => (text === 'long' ? { text: 'alpha beta gamma '.repeat(200) } : say(text))
  })
  const call = await RealtimeCall.open(t, server.model)
  const audio = call.next('audio', 2)
  const interruption = call.next('speech.interrupt')
  call.speak('long')
  await audio
  call.speak('two')
  await interruption
  const ends = call.next('response.end', 2)
  call.interrupt({ ms: 300, text: 'alpha' })
  await ends
  t.equal(call.answers[1], 'You said two.')
})

t.test('it announces the end of a connection, and is continued on another one', async (t) => {
  const server = await startGeminiServer(t, { reply: say })
  const call = await RealtimeCall.open(t, server.model)
  await call.ask('one')
  const reopened = call.next('reconnect')
  server.connections[0]?.send({ goAway: { timeLeft: '30s' } })
  await reopened
  await call.ask('two')
  server.connections.at(-1)?.cut()
  await call.ask('three')
  t.same(call.answers, ['You said one.', 'You said two.', 'You said three.'])
  t.match(
    server.connections.at(-1)?.setup.systemInstruction?.parts[0]?.text,
    /User: one\nAssistant: You said one\.\nUser: two\nAssistant: You said two\.$/
  )
})
