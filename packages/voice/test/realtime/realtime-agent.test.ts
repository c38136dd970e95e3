import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'
import { decodeTones } from '../../src/testing/tone-codec.ts'
import t from 'tap'
import { startAgentCall } from '../helpers/realtime/start-agent-call.ts'

t.setTimeout(20_000)

const listening = ({ state }: { state: string }) => state === 'listening'

t.test('a call of a realtime model is one run, with its turns in log and session', async (t) => {
  const { link, run, parts, session, upstream } = await startAgentCall(t, { voice: { greeting: 'Hello!' } })
  const greeting = await link.next('answer.end')
  await link.next('state', listening)
  link.speak('one')
  const { itemId, text } = await link.next('answer.end')
  t.equal(text, 'You said one.')
  t.equal(decodeTones(link.audioOf(itemId), 24_000), text)
  await link.next('state', listening)
  link.push({ type: 'text', text: 'two', respond: true })
  t.match(await link.next('answer.end'), { text: 'You said two.' })
  await link.next('state', listening)
  link.hangUp()
  t.match(await run.result(), { text: 'You said two.', finishReason: 'stop', usage: { totalTokens: 30 } })
  const written = await parts()
  t.match(
    written.filter(({ type }) => type === 'voice.transcript'),
    [
      { text: 'one', final: true },
      { text: 'two', final: true }
    ]
  )
  t.match(
    written.filter(({ type }) => type === 'voice.turn'),
    [
      { index: 0, itemId, status: 'completed', text: 'You said one.' },
      { index: 1, status: 'completed', text: 'You said two.' }
    ]
  )
  t.strictSame(await session(), [
    { role: 'user', content: 'one' },
    { role: 'assistant', text: 'You said one.' },
    { role: 'user', content: 'two' },
    { role: 'assistant', text: 'You said two.' }
  ])
  t.match(greeting, { itemId: String, text: 'Hello!' })
  t.same(
    upstream.connections.flatMap(({ errors }) => errors),
    []
  )
})

t.test('the user interrupts an answer: the model and the session have what was played', async (t) => {
  const { link, session, upstream, run } = await startAgentCall(t, {
    server: { reply: ({ text }) => ({ text: text === 'long' ? 'alpha beta gamma delta epsilon' : 'Fine.' }) },
    voice: { turns: { interrupt: { after: 40 } } },
    link: { playback: 'reports' }
  })
  link.speak('long')
  const { itemId } = await link.next('answer.end')
  link.played(itemId, 330)
  link.speak('stop')
  const { text } = await link.next('clear')
  t.equal(text, 'alpha beta')
  const answer = await link.next('answer.end')
  t.equal(answer.text, 'Fine.')
  link.played(answer.itemId, answer.durationMs)
  await link.next('state', listening)
  link.hangUp()
  await run.result()
  t.strictSame(await session(), [
    { role: 'user', content: 'long' },
    { role: 'assistant', text: 'alpha beta', interrupted: true },
    { role: 'user', content: 'stop' },
    { role: 'assistant', text: 'Fine.' }
  ])
  t.same(
    upstream.connections.flatMap(({ errors }) => errors),
    []
  )
})

t.test('a tool waits for an approval, which the user gives by voice', async (t) => {
  const book = defineTool({
    name: 'book',
    description: 'Books a table.',
    input: Type.Object({ seats: Type.Integer() }),
    execute: ({ seats }) => `booked ${seats}`
  })
  const { link, upstream } = await startAgentCall(t, {
    server: {
      reply({ items, own = '', text }) {
        const spoken = /: "(.*)"$/.exec(own)?.[1]
        if (spoken !== undefined) return { text: spoken }
        const output = items.findLast((item) => item.output)?.output
        return output === undefined && text === 'a table'
          ? { calls: [{ callId: 'c1', name: 'book', args: '{"seats":2}' }] }
          : { text: `It is ${output}.` }
      }
    },
    voice: { tools: [book], approval: 'always' }
  })
  const said = link.next('audio', ({ startMs }) => startMs > 1_000)
  link.speak('a table')
  t.match(await link.next('approval'), { toolName: 'book', args: { seats: 2 } })
  await said
  link.speak('yes')
  const { itemId, text } = await link.next('answer.end')
  t.equal(text, 'It is "booked 2".')
  t.match(decodeTones(link.audioOf(itemId), 24_000), /^May I use book\?.*It is "booked 2"\.$/)
  await link.next('state', listening)
  t.equal(link.all('response.start').length, 1)
  t.same(
    upstream.connections.flatMap(({ errors }) => errors),
    []
  )
})

t.test('a model may give calls of different turns one id', async (t) => {
  let count = 0
  const counter = defineTool({
    name: 'count',
    description: 'Counts.',
    input: Type.Object({}),
    execute: () => ++count
  })
  const { link, upstream } = await startAgentCall(t, {
    server: {
      reply({ items }) {
        const { output } = items.at(-1) ?? {}
        return output === undefined
          ? { calls: [{ callId: 'c1', name: 'count', args: '{}' }] }
          : { text: `It is ${output}.` }
      }
    },
    voice: { tools: [counter] }
  })
  for (let turn = 1; turn <= 4; turn++) {
    link.speak('go on')
    t.match(await link.next('answer.end'), { text: `It is ${turn}.` })
    await link.next('state', listening)
    if (turn === 2) upstream.connections[0]?.cut()
  }
  const calls = upstream.connections.at(-1)?.items.filter(({ type }) => type === 'function_call') ?? []
  t.equal(calls.length, 4)
  t.equal(new Set(calls.slice(0, 3).map(({ call_id: id }) => id)).size, 2, 'c1, another one, and c1 again')
})

t.test('the client serves tools that it chose, and changes them', async (t) => {
  const tool = (name: string) => ({ name, description: 'A tool.', input: { type: 'object' } as never })
  const { link, upstream } = await startAgentCall(t, {
    server: {
      reply: ({ items, text }) =>
        items.at(-1)?.output === undefined
          ? { calls: [{ callId: `c_${text}`, name: text, args: '{"a":1}' }] }
          : { text: items.at(-1)?.output ?? '' }
    },
    link: { settings: { tools: [tool('here')] } }
  })
  link.speak('here')
  const first = await link.next('tool.call')
  t.match(first, { toolName: 'here', args: { a: 1 }, toolCallId: 'c_here' })
  await link.answer(first.inputId, { action: 'accept', content: 'ok' })
  t.match(await link.next('answer.end'), { text: '"ok"' })
  await link.next('state', listening)
  link.push({ type: 'configure', settings: { tools: [tool('there')] } })
  link.speak('there')
  const second = await link.next('tool.call')
  t.match(second, { toolName: 'there' })
  await link.answer(second.inputId, { action: 'accept', content: 'also' })
  t.match(await link.next('answer.end'), { text: '"also"' })
  t.match(upstream.connections[0]?.session['tools'], [{ name: 'there' }])
})

t.test('a client does not notice that the model is connected again', async (t) => {
  const { link, upstream, session, run } = await startAgentCall(t)
  for (const word of ['one', 'two', 'three']) {
    link.speak(word)
    await link.next('response.start')
    upstream.connections.at(-1)?.cut()
    t.match(await link.next('answer.end'), { text: `You said ${word}.` })
    await link.next('state', listening)
  }
  link.hangUp()
  await run.result()
  t.equal((await session()).length, 6)
  t.equal(link.all('error').length, 0)
})

t.test('a call fails with the model, and an answer with its response', async (t) => {
  const { run, link } = await startAgentCall(t, { server: { handshake: () => 401 } })
  await t.rejects(run.result(), { code: 'RUN_ERR_MODEL_AUTH' })
  t.equal(link.all('state').length, 0)
  const other = await startAgentCall(t, { server: { reply: () => ({ fails: { type: 'x', code: 'bad' } }) } })
  other.link.speak('one')
  t.match(await other.link.next('response.end'), {
    status: 'failed',
    error: { code: 'RUN_ERR_MODEL_FAILED' }
  })
})

t.test('a message is a call of one turn', async (t) => {
  const { agent, session } = await startAgentCall(t)
  const { text } = await agent.run('one', { sessionId: 's2' })
  t.equal(text, 'You said one.')
  t.same(await session(), [])
})
