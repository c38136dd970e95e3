import { createHash } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { createInProcessStores, type SessionStore } from '@svc/registry'
import { defineTool } from '@svc/runtime'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

const note = defineTool({
  name: 'note',
  description: 'Notes',
  input: Type.Object({ text: Type.String() }),
  execute: ({ text }) => ({ noted: text })
})
const key = { registry: 'global', owner: 'anonymous', kind: 'agent' as const, name: 'tester', sessionId: 's' }
const load = async (sessions: SessionStore, of: object = key) => sessions.load({ ...key, ...of }, 100)

t.test('the next turn sees the previous one', async (t) => {
  const { agent, model } = makeAgent(['One.', 'Two.'], { instructions: 'Be brief.' })
  const stores = createInProcessStores()
  await agent.run('First?', makeContext({ stores, sessionId: 's' }).context)
  await agent.run('Second?', makeContext({ stores, sessionId: 's' }).context)
  t.strictSame(model.calls[1]?.prompt, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'First?' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'One.' }] },
    { role: 'user', content: [{ type: 'text', text: 'Second?' }] }
  ])
  t.equal((await load(stores.sessions)).length, 4)
})

t.test('owners, agents and sessions have separate conversations', async (t) => {
  const stores = createInProcessStores()
  const { agent, model } = makeAgent('Hello.')
  const other = makeAgent('Hello.', { name: 'other' })
  await agent.run('A', makeContext({ stores, sessionId: 's' }).context)
  await agent.run('B', makeContext({ stores, sessionId: 'r' }).context)
  await agent.run('C', makeContext({ stores, sessionId: 's', principal: { sub: 'ann', scopes: [] } }).context)
  await other.agent.run('D', makeContext({ stores, sessionId: 's' }).context)
  for (const call of [...model.calls, ...other.model.calls]) t.equal(call.prompt.length, 1)
  t.equal((await load(stores.sessions, { owner: 'ann' })).length, 2)
})

t.test('an agent may have its own session store', async (t) => {
  const own = createInProcessStores().sessions
  const stores = createInProcessStores()
  await makeAgent('Hello.', { sessions: own }).agent.run(
    'Hi',
    makeContext({ stores, sessionId: 's' }).context
  )
  t.equal((await load(own)).length, 2)
  t.equal((await load(stores.sessions)).length, 0)
})

t.test('a saved turn with tools is valid for every provider', async (t) => {
  const stores = createInProcessStores()
  const { agent, model } = makeAgent(
    [
      {
        text: 'Noting.',
        toolCalls: [
          { toolName: 'note', toolCallId: '1', args: { text: 'a' } },
          { toolName: 'note', toolCallId: '2', input: '{"text":' },
          { toolName: 'note', toolCallId: '3', args: ['a'] },
          { toolName: 'no such/tool', toolCallId: '4', args: {} }
        ]
      },
      'Done.',
      'Again.'
    ],
    { tools: [note] }
  )
  const { ofType } = await collect(agent.stream('Go', makeContext({ stores, sessionId: 's' }).context))
  t.strictSame(
    ofType('tool.call').map((part) => part.args),
    [{ text: 'a' }, '{"text":', ['a'], {}]
  )
  const saved = await load(stores.sessions)
  t.match(saved, [
    { role: 'user', content: 'Go' },
    {
      role: 'assistant',
      text: 'Noting.',
      toolCalls: [{ args: { text: 'a' } }, { args: {} }, { args: {} }, { toolName: 'no_such_tool' }]
    },
    { role: 'tool', toolCallId: '1', result: { noted: 'a' } },
    { role: 'tool', toolCallId: '2', error: { code: 'RUN_ERR_TOOL_BAD_ARGS' } },
    { role: 'tool', toolCallId: '3', error: { code: 'RUN_ERR_TOOL_BAD_ARGS' } },
    { role: 'tool', toolCallId: '4', error: { code: 'RUN_ERR_TOOL_UNKNOWN' } },
    { role: 'assistant', text: 'Done.' }
  ])
  await agent.run('More', makeContext({ stores, sessionId: 's' }).context)
  t.strictSame(model.calls[2]?.prompt.slice(0, -2), model.calls[1]?.prompt, 'it is shown as it was')
})

t.test('history.maxMessages', async (t) => {
  const stores = createInProcessStores()
  const { agent, model } = makeAgent('Yes.', { history: { compact: false, maxMessages: 3 } })
  for (const text of ['1', '2', '3']) await agent.run(text, makeContext({ stores, sessionId: 's' }).context)
  t.strictSame(
    model.calls[2]?.prompt.map((message) => message.role),
    ['user', 'assistant', 'user']
  )
  const forgetful = makeAgent('Yes.', { history: { maxMessages: 0 } })
  await forgetful.agent.run('4', makeContext({ stores, sessionId: 's' }).context)
  t.equal(forgetful.model.calls[0]?.prompt.length, 1)
})

t.test('binary input is stored as a reference, and described in later turns', async (t) => {
  const stores = createInProcessStores()
  const { agent, model } = makeAgent('I see.')
  const bytes = Buffer.from('a picture')
  const url = 'https://example.org/x.pdf'
  await agent.run(
    [
      { type: 'text', text: 'Look.' },
      { type: 'image', mimeType: 'image/png', filename: 'cat.png', data: bytes.toString('base64') },
      { type: 'audio', mimeType: 'audio/wav', data: '' },
      { type: 'file', mimeType: 'application/pdf', url }
    ],
    makeContext({ stores, sessionId: 's' }).context
  )
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  t.match((await load(stores.sessions))[0], {
    content: [
      { type: 'text', text: 'Look.' },
      { type: 'image', mimeType: 'image/png', filename: 'cat.png', sha256, size: 9 },
      { type: 'audio', mimeType: 'audio/wav', size: 0 },
      { type: 'file', url }
    ]
  })
  t.notMatch(JSON.stringify(await load(stores.sessions)), bytes.toString('base64'))
  await agent.run('And?', makeContext({ stores, sessionId: 's' }).context)
  t.match(model.calls[1]?.prompt[0]?.content, [
    { type: 'text', text: 'Look.' },
    { type: 'text', text: '[image cat.png, image/png, 9 bytes, sent earlier]' },
    { type: 'text', text: '[audio, audio/wav, 0 bytes, sent earlier]' },
    { type: 'file', mediaType: 'application/pdf', data: { type: 'url', url: new URL(url) } }
  ])
})

t.test('two runs of one session run one at a time', async (t) => {
  const stores = createInProcessStores()
  const { agent, model } = makeAgent([{ text: ['a', 'b'], delay: 5 }, 'Second.'])
  const first = collect(agent.stream('1', makeContext({ stores, sessionId: 's' }).context))
  const second = collect(agent.stream('2', makeContext({ stores, sessionId: 's' }).context))
  await Promise.all([first, second])
  t.strictSame(
    model.calls[1]?.prompt.map((message) => message.role),
    ['user', 'assistant', 'user']
  )
  t.match(await load(stores.sessions), [
    { content: '1' },
    { text: 'ab' },
    { content: '2' },
    { text: 'Second.' }
  ])
})

t.test('a run that waits for its session can be canceled', async (t) => {
  const stores = createInProcessStores()
  const { agent, model } = makeAgent([{ hangs: 'call' }, 'Second.'])
  const one = new AbortController()
  const two = new AbortController()
  const first = collect(
    agent.stream('1', makeContext({ stores, sessionId: 's', signal: one.signal }).context)
  )
  while (model.calls.length === 0) await new Promise(setImmediate)
  const second = collect(
    agent.stream('2', makeContext({ stores, sessionId: 's', signal: two.signal }).context)
  )
  await new Promise(setImmediate)
  two.abort(new Error('two'))
  t.match((await second).error, { message: 'two' })
  one.abort(new Error('one'))
  t.match((await first).error, { message: 'one' })
  t.equal((await agent.run('3', makeContext({ stores, sessionId: 's' }).context)).text, 'Second.')
})

t.test('a run that fails or is abandoned saves nothing, and unlocks the session', async (t) => {
  const stores = createInProcessStores()
  const { agent } = makeAgent([{ rejects: { statusCode: 400 } }, { text: ['a', 'b'] }, 'Fine.'])
  await t.rejects(agent.run('1', makeContext({ stores, sessionId: 's' }).context))
  for await (const part of agent.stream('2', makeContext({ stores, sessionId: 's' }).context))
    if (part.type === 'text') break
  t.strictSame(await load(stores.sessions), [])
  await agent.run('3', makeContext({ stores, sessionId: 's' }).context)
  t.match(await load(stores.sessions), [{ content: '3' }, { text: 'Fine.' }])
})

t.test('a turn is saved before its finish', async (t) => {
  const stores = createInProcessStores()
  const { agent } = makeAgent('Hello.')
  for await (const part of agent.stream('Hi', makeContext({ stores, sessionId: 's' }).context))
    if (part.type === 'finish') t.equal((await load(stores.sessions)).length, 2)
})

t.test('an answer without content is not saved as an empty message', async (t) => {
  const stores = createInProcessStores()
  await makeAgent({}).agent.run('Hi', makeContext({ stores, sessionId: 's' }).context)
  t.strictSame(await load(stores.sessions), [{ role: 'user', content: 'Hi' }])
})

t.test('a store that fails or does not answer', async (t) => {
  const working = createInProcessStores().sessions
  for (const method of ['lock', 'load', 'append'] as const) {
    const sessions = { ...working, [method]: () => Promise.reject(new Error('SECRET')) }
    const { error } = await collect(
      makeAgent('Hello.', { sessions }).agent.stream('Hi', makeContext({ sessionId: 's' }).context)
    )
    t.match(error, { code: 'RUN_ERR_STORE', statusCode: 503 }, method)
    t.notMatch(error?.message, 'SECRET')
    const hanging = { ...working, [method]: () => new Promise<never>(() => {}) }
    const { agent } = makeAgent('Hello.', { sessions: hanging, timeout: { run: 20 } })
    t.match(
      (await collect(agent.stream('Hi', makeContext({ sessionId: 's' }).context))).error,
      { code: 'RUN_ERR_TIMEOUT' },
      method
    )
  }
})
