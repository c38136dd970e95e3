import { scriptedModel, type ScriptedTurn } from '@svc/runtime/testing'
import t from 'tap'
import { makeAgent } from '../helpers/make-agent.ts'
import { makeCall } from '../helpers/make-call.ts'
import { makeTeam, member } from '../helpers/make-team.ts'

const user = (content: string) => ({ role: 'user', content })
const toBob = (_call?: unknown, index = 0) => ({
  toolCalls: [{ toolName: 'route', toolCallId: `r${index}`, args: { member: 'bob' } }]
})
/** What the conversation of a routing leader has of a member's answer. */
const routed = (result: string, toolCallId = 'r0') => [
  {
    role: 'assistant',
    text: '',
    toolCalls: [{ toolCallId, toolName: 'route', args: { member: 'bob' } }]
  },
  { role: 'tool', toolCallId, toolName: 'route', result }
]
const interrupted = (text: string) => ({ role: 'assistant', text, interrupted: true })
const open = (text: string): ScriptedTurn => ({
  parts: [
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: text }
  ],
  hangs: 'stream'
})

function routingTeam(...answers: (string | ScriptedTurn)[]) {
  const bob = makeAgent(answers, { name: 'bob' }).agent
  return makeTeam({ mode: 'route', members: [member('ada'), bob], model: scriptedModel(toBob) })
}

t.test('a leader that answers itself delivers its answer; its members deliver nothing', async (t) => {
  const callBob = { text: 'I ask bob.', toolCalls: [{ toolName: 'bob', args: { message: 'Well?' } }] }
  const team = makeTeam({
    mode: 'coordinate',
    members: [makeAgent('Bob says so.', { name: 'bob' }).agent],
    model: scriptedModel([callBob, 'It is so.'])
  })
  const { turn, messages } = makeCall(team)
  const { delivery, ended } = await turn('Well?')
  await delivery.until(2)
  t.strictSame(delivery.sent, ['I ask bob.', 'It is so..'])
  delivery.interrupt(15)
  await ended
  t.match((await messages()).at(-1), interrupted('It is'))
})

t.test('a leader that merges answers delivers the merged one', async (t) => {
  const members = [makeAgent('a', { name: 'ada' }).agent, member('bob')]
  const { turn, messages } = makeCall(
    makeTeam({ mode: 'parallel', members, model: scriptedModel('Both agree.') })
  )
  const { delivery, ended } = await turn('Well?')
  await delivery.until(1)
  t.strictSame(delivery.sent, ['Both agree..'])
  delivery.interrupt(4)
  await ended
  t.strictSame(await messages(), [user('Well?'), interrupted('Both')])
})

t.test(
  'the member that answers for its team delivers the answer, and both keep what was delivered',
  async (t) => {
    const { turn, messages } = makeCall(routingTeam('It is noon.', 'It is one.'))
    const { delivery, ended } = await turn('Time?')
    await delivery.until(1)
    t.strictSame(delivery.sent, ['It is noon..'])
    delivery.interrupt(5)
    await ended
    const first = [user('Time?'), ...routed('It is'), interrupted('')]
    t.strictSame(await messages(), first)
    const next = await turn('Time?')
    await next.delivery.until(1)
    next.delivery.play()
    await next.ended
    t.strictSame(next.delivery.sent, ['It is one..'])
    t.strictSame(await messages(), [...first, user('Time?'), ...routed('It is one.', 'r1')])
  }
)

t.test('a member that delivers nothing of its own ends as ever', async (t) => {
  const { turn, messages } = makeCall(
    makeTeam({ mode: 'route', members: [member('bob')], model: scriptedModel(toBob) })
  )
  const { ended } = await turn('Time?')
  t.match((await ended).parts.at(-1), { type: 'finish' })
  t.strictSame(await messages(), [user('Time?'), ...routed('bob answers')])
})

t.test('a run that is canceled while a member answers keeps what was delivered', async (t) => {
  for (const [played, saved] of [
    [5, [user('Time?'), ...routed('It is'), interrupted('')]],
    [0, []]
  ] as const) {
    const { turn, messages } = makeCall(routingTeam(open('It is noon.'), 'It is one.'))
    const { run, ended } = await turn('Time?', (part, delivery) => {
      if (part.type !== 'text') return
      delivery.play(played)
      setImmediate(() => run.cancel())
    })
    await ended
    const next = await turn('Time?')
    await next.delivery.until(1)
    t.strictSame(await messages(), saved)
    next.delivery.play()
    await next.ended
  }
})

t.test('an interruption before a member is picked ends the turn', async (t) => {
  const team = makeTeam({
    mode: 'route',
    members: [member('bob')],
    model: scriptedModel([{ hangs: 'call' }])
  })
  const { turn, messages } = makeCall(team)
  const { ended, delivery } = await turn('Time?', (part, delivery) => {
    if (part.type === 'step.start') setImmediate(() => delivery.interrupt(0))
  })
  t.match((await ended).parts.at(-1), { type: 'finish', finishReason: 'stop' })
  t.strictSame(delivery.sent, ['.'])
  t.strictSame(await messages(), [user('Time?'), interrupted('')])
})

t.test('members with a source of their own deliver nothing', async (t) => {
  const members = ['ada', 'bob'].map((name) => makeAgent(`${name} says so.`, { name }).agent)
  const { turn } = makeCall(makeTeam({ mode: 'sequence', members }))
  const { delivery, ended } = await turn('Well?')
  t.match((await ended).text, 'bob says so.')
  t.strictSame(delivery.sent, [])
})
