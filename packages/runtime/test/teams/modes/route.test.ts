import { createInProcessStores, expose } from '@svc/registry'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { makeContext } from '../../helpers/make-agent.ts'
import { failing, makeTeam, member, runIn } from '../../helpers/make-team.ts'

const routeTo = (name: unknown) => ({
  text: 'hm',
  toolCalls: [{ toolName: 'route', args: { member: name } }]
})

t.test('the answer of the member that the leader picks is the answer, streamed unsourced', async (t) => {
  const heard: unknown[] = []
  const bob = member(
    'bob',
    (_context, input) => heard.push(input),
    { type: 'text', text: 'b' },
    { type: 'structured', value: { b: 1 } },
    { type: 'text', text: 'ob' }
  )
  const model = scriptedModel([routeTo('bob')])
  const { result, said, parts } = await runIn(
    makeTeam({ mode: 'route', members: [member('ada'), bob], model })
  )
  t.same(said, [': b', ': ob'])
  t.match(result, { text: 'bob', structured: { b: 1 }, usage: { totalTokens: 14 } })
  t.match(result?.toolCalls, [{ toolName: 'route', result: { member: 'bob' } }])
  t.same(heard, ['Hi'])
  t.equal(
    parts.some(({ source }) => source !== undefined),
    false
  )
  t.match(model.calls[0], { toolChoice: { type: 'tool', toolName: 'route' } })
})

t.test('an approval of the member is unsourced too', async (t) => {
  const ask = makeContext().context
  t.same(ask.child('bob', { unsourced: true }).source, [])
  t.equal(ask.child('bob', { unsourced: true }).idempotencyKey, `${ask.runId}/bob`)
})

t.test('a leader that only says the name has picked too', async (t) => {
  const members = [member('ada'), member('bob')]
  const { result } = await runIn(
    makeTeam({ mode: 'route', members, model: scriptedModel(['It is for ada.']) })
  )
  t.match(result, { text: 'ada answers' })
})

t.test('what it says names a member as a whole word, and of two names the longer', async (t) => {
  const members = [member('can'), member('can-do')]
  const named = scriptedModel(['Can-do should answer this.'])
  t.match((await runIn(makeTeam({ mode: 'route', members, model: named }))).result, {
    text: 'can-do answers'
  })
  for (const said of ['I cannot decide.', 'Not canning, scan or toucan.', 'can or can-do']) {
    const model = scriptedModel([said, routeTo('can-do')])
    const { result } = await runIn(makeTeam({ mode: 'route', members, model }))
    t.match({ ...result, calls: model.calls.length }, { text: 'can-do answers', calls: 2 }, said)
  }
})

t.test(
  'a leader that picks two members at once has picked none, and one that picks the same twice has',
  async (t) => {
    const members = [member('ada'), member('bob')]
    const both = (...names: string[]) => ({
      text: '',
      toolCalls: names.flatMap((name) => routeTo(name).toolCalls)
    })
    const model = scriptedModel([both('ada', 'bob'), routeTo('bob')])
    const { result } = await runIn(makeTeam({ mode: 'route', members, model }))
    t.match(result, {
      text: 'bob answers',
      toolCalls: [
        { error: { code: 'RUN_ERR_TOOL_BAD_ARGS' } },
        { error: { code: 'RUN_ERR_TOOL_BAD_ARGS' } },
        {}
      ]
    })
    const twice = scriptedModel([both('ada', 'ada')])
    t.match((await runIn(makeTeam({ mode: 'route', members, model: twice }))).result, { text: 'ada answers' })
    t.equal(twice.calls.length, 1)
  }
)

t.test('a leader that picks nobody is asked once more, then the run fails', async (t) => {
  const members = [member('ada'), member('bob')]
  const mends = scriptedModel([routeTo('eve'), routeTo('bob')])
  const mended = await runIn(makeTeam({ mode: 'route', members, model: mends }))
  t.match(mended.result, {
    text: 'bob answers',
    toolCalls: [{ error: { code: 'RUN_ERR_TOOL_BAD_ARGS' } }, {}]
  })
  t.match(mends.calls[1]?.prompt.at(-1), { role: 'tool' })
  const { error } = await runIn(makeTeam({ mode: 'route', members, model: scriptedModel('ada or bob') }))
  t.match(error, { code: 'RUN_ERR_NO_ROUTE', statusCode: 502 })
})

t.test('a member that fails fails the run', async (t) => {
  const fault = expose({ code: 'SLOW_DOWN', message: 'slow down', statusCode: 429 })
  const team = makeTeam({
    mode: 'route',
    members: [failing('ada', fault)],
    model: scriptedModel([routeTo('ada')])
  })
  const { error, parts } = await runIn(team)
  t.match(error, { code: 'SLOW_DOWN', statusCode: 429 })
  t.equal(parts.filter(({ type }) => type === 'error').length, 1)
})

t.test('the next choice knows what was answered', async (t) => {
  const stores = createInProcessStores()
  const model = scriptedModel([routeTo('ada'), routeTo('ada')])
  const team = makeTeam({ mode: 'route', members: [member('ada')], model })
  await team.run('First', makeContext({ stores, sessionId: 's' }).context)
  await team.run('Second', makeContext({ stores, sessionId: 's' }).context)
  t.match(JSON.stringify(model.calls[1]?.prompt), /First.*ada answers.*Second/)
})
