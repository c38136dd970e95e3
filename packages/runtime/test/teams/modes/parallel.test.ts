import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { failing, makeTeam, member, runIn } from '../../helpers/make-team.ts'

const pause = (ms: number) => ms

t.test('all answer at once, and a function makes one answer of theirs', async (t) => {
  const team = makeTeam({
    mode: 'parallel',
    members: [member('slow', pause(20), { type: 'text', text: 'slow' }), member('fast')],
    merge: (answers, { principal }) => ({
      text: answers.map(({ text }) => text).join(' + '),
      structured: { by: answers.map((answer) => answer.member), for: principal.sub }
    })
  })
  const { result, said } = await runIn(team)
  t.same(said, ['fast: fast answers', 'slow: slow', ': slow + fast answers'])
  t.match(result, {
    text: 'slow + fast answers',
    structured: { by: ['slow', 'fast'], for: 'anonymous' },
    usage: { totalTokens: 6 }
  })
})

t.test('a leader makes one answer of theirs', async (t) => {
  const model = scriptedModel(['Both say so.'])
  const members = [member('ada'), failing('bad'), member('bob')]
  const { result, said } = await runIn(makeTeam({ mode: 'parallel', members, model }))
  t.match(result, { text: 'Both say so.', usage: { totalTokens: 17 } })
  t.equal(said.at(-1), ': Both say so.')
  t.match(
    JSON.stringify(model.calls[0]?.prompt.at(-1)),
    /The answer of ada:\\nada answers.*bad failed: The run failed.*The answer of bob/
  )
})

t.test('the function is told who failed, and decides', async (t) => {
  const members = [failing('bad'), member('good')]
  const told = makeTeam({
    mode: 'parallel',
    members,
    merge: (answers) => answers.map(({ member: name, error }) => `${name}: ${error?.code ?? 'ok'}`).join(', ')
  })
  t.match((await runIn(told)).result, { text: 'bad: RUN_ERR_FAILED, good: ok' })
  const strict = makeTeam({
    mode: 'parallel',
    members,
    merge(answers) {
      if (answers.some(({ error }) => error)) throw new Error('no')
      return ''
    }
  })
  t.match((await runIn(strict)).error, { code: 'RUN_ERR_FAILED' })
})

t.test('a leader is not asked when all failed', async (t) => {
  const model = scriptedModel('never')
  const { error } = await runIn(makeTeam({ mode: 'parallel', members: [failing('a'), failing('b')], model }))
  t.match(error, { code: 'RUN_ERR_FAILED' })
  t.equal(model.calls.length, 0)
})

t.test('a leader that calls tools of its own invention is told that there are none', async (t) => {
  const model = scriptedModel([{ toolCalls: [{ toolName: 'search', args: {} }] }, 'All agree.'])
  const { result } = await runIn(makeTeam({ mode: 'parallel', members: [member('a')], model }))
  t.match(result, {
    text: 'All agree.',
    finishReason: 'stop',
    toolCalls: [{ error: { code: 'RUN_ERR_TOOL_UNKNOWN' } }]
  })
  const always = scriptedModel({ toolCalls: [{ toolName: 'search', args: {} }] })
  const stubborn = makeTeam({ mode: 'parallel', members: [member('a')], model: always, maxSteps: 2 })
  t.match((await runIn(stubborn)).result, { text: '', finishReason: 'max-steps' })
})
