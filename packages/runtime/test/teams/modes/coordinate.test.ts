import { Type } from '@sinclair/typebox'
import { createInProcessStores, defineRunnable } from '@svc/registry'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { collect, makeContext } from '../../helpers/make-agent.ts'
import { failing, makeTeam, member, runIn } from '../../helpers/make-team.ts'

const delegate = (...toolNames: string[]) => ({
  toolCalls: toolNames.map((toolName) => ({ toolName, args: { message: `ask ${toolName}` } }))
})

t.test('the leader delegates, several at once, and answers', async (t) => {
  const heard: unknown[] = []
  const ada = member('ada', (_context, input) => heard.push(input), { type: 'text', text: 'from ada' })
  const model = scriptedModel([
    { text: 'Let me see. ', ...delegate('ada', 'bob') },
    { text: ['All ', 'done'] }
  ])
  const team = makeTeam({
    mode: 'coordinate',
    members: [ada, member('bob')],
    model,
    instructions: 'Be kind.'
  })
  const { parts, result, said } = await runIn(team)
  t.match(result, { text: 'All done', finishReason: 'stop' })
  t.strictSame(
    result?.usage,
    { promptTokens: 22, completionTokens: 7, totalTokens: 29 },
    'leader and members'
  )
  t.match(
    result?.toolCalls.map(({ toolName, result: given, source }) => [toolName, given, source]),
    [
      ['ada', 'from ada', undefined],
      ['bob', 'bob answers', undefined]
    ]
  )
  t.same(heard, ['ask ada'])
  t.same(said.toSorted(), [': All ', ': Let me see. ', ': done', 'ada: from ada', 'bob: bob answers'])
  t.ok(parts.some((part) => part.type === 'finish' && part.source?.[0] === 'ada'))
  const [system, user] = model.calls[0]!.prompt
  t.match(system, { role: 'system', content: /^Be kind\.[^]*- ada: knows ada[^]*- bob: knows bob/ })
  t.match(user, { role: 'user' })
  t.match(model.calls[0]?.tools, [{ name: 'ada', description: 'knows ada' }, { name: 'bob' }])
})

t.test('what members say comes while they say it', async (t) => {
  const gate = Promise.withResolvers<void>()
  const slow = member('slow', { type: 'text', text: 'first' }, () => gate.promise, {
    type: 'text',
    text: 'last'
  })
  const model = scriptedModel([delegate('slow'), 'ok'])
  const seen: string[] = []
  for await (const part of makeTeam({ mode: 'coordinate', members: [slow], model }).stream('Hi')) {
    if (part.type !== 'text') continue
    seen.push(part.text)
    gate.resolve()
  }
  t.same(seen, ['first', 'last', 'ok'])
})

t.test('a member that fails is told to the leader, without what is nobody’s business', async (t) => {
  const model = scriptedModel([delegate('bad', 'good'), 'Sorry'])
  const team = makeTeam({ mode: 'coordinate', members: [failing('bad'), member('good')], model })
  const { parts, result } = await runIn(team)
  t.match(result, {
    text: 'Sorry',
    toolCalls: [
      { error: { code: 'RUN_ERR_TOOL_FAILED', message: /bad failed: The run failed/ } },
      { result: 'good answers' }
    ]
  })
  t.match(
    parts.find(({ type }) => type === 'error'),
    { source: ['bad'], error: { code: 'RUN_ERR_FAILED' } }
  )
  t.notMatch(JSON.stringify([parts, model.calls]), /secret/)
})

t.test('a member with an input of its own is called with it', async (t) => {
  const heard: unknown[] = []
  const flow = defineRunnable({
    kind: 'workflow',
    name: 'Order a pizza!',
    inputSchema: Type.Object({ size: Type.Integer() }),
    run: (input) => {
      heard.push(input)
      return { text: '', structured: { ordered: true } }
    }
  })
  const model = scriptedModel([
    { toolCalls: [{ toolName: 'Order_a_pizza_', args: { size: 'big' } }] },
    { toolCalls: [{ toolName: 'Order_a_pizza_', args: { size: 3 } }] },
    'ok'
  ])
  const { result } = await runIn(makeTeam({ mode: 'coordinate', members: [flow], model }))
  t.match(result?.toolCalls, [{ error: { code: 'RUN_ERR_TOOL_BAD_ARGS' } }, { result: { ordered: true } }])
  t.same(heard, [{ size: 3 }])
})

t.test('its conversation is the team’s', async (t) => {
  const stores = createInProcessStores()
  const model = scriptedModel([delegate('ada'), 'one', 'two'])
  const team = makeTeam({ mode: 'coordinate', members: [member('ada')], model })
  await team.run('First', makeContext({ stores, sessionId: 's' }).context)
  await team.run('Second', makeContext({ stores, sessionId: 's' }).context)
  t.same(
    model.calls[2]?.prompt.map(({ role }) => role),
    ['system', 'user', 'assistant', 'tool', 'assistant', 'user']
  )
})

t.test('it ends after so many model calls', async (t) => {
  const model = scriptedModel(delegate('ada'))
  const team = makeTeam({ mode: 'coordinate', members: [member('ada')], model, maxSteps: 2 })
  t.match((await runIn(team)).result, { finishReason: 'max-steps' })
  t.equal(model.calls.length, 2)
})

t.test('a leader whose model fails fails the run', async (t) => {
  const model = scriptedModel({ rejects: Object.assign(new Error('x'), { statusCode: 401 }) })
  const { error } = await collect(
    makeTeam({ mode: 'coordinate', members: [member('ada')], model }).stream('Hi')
  )
  t.match(error, { code: /^RUN_ERR_MODEL_/ })
})
