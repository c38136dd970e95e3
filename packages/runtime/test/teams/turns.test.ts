import { Type } from '@sinclair/typebox'
import {
  createInProcessStores,
  createRunEngine,
  defineRunnable,
  type RunEngine,
  type StartOptions
} from '@svc/registry'
import { Agent, type Team } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t, { type Test } from 'tap'
import { failing, makeTeam, member } from '../helpers/make-team.ts'

/** An agent that answers with all texts that it was given. */
const echo = (name: string) =>
  new Agent({
    name,
    register: false,
    model: scriptedModel(({ prompt }) =>
      prompt
        .flatMap(({ role, content }) =>
          role === 'user' || role === 'assistant'
            ? content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
            : []
        )
        .join(' ')
    )
  })

function talkTo(
  t: Test,
  team: Team,
  engine: RunEngine = createRunEngine({ stores: createInProcessStores() })
) {
  t.teardown(() => engine.close())
  const key = {
    registry: 'global',
    kind: 'team',
    name: team.name,
    owner: 'anonymous',
    sessionId: 's'
  } as const
  return {
    engine,
    start: (input: string | object, options: StartOptions = {}) =>
      engine.start(team, input as string, { sessionId: 's', ...options }),
    session: () => engine.sessions.find(key),
    async messages() {
      const { messages } = await engine.sessions.messages(key, { limit: 9 })
      return messages.map(({ message }) => {
        if (message?.role === 'user') return [message.role, message.content]
        return [message?.role, message?.role === 'assistant' && message.text]
      })
    }
  }
}

t.test('the session of a team without a leader has what it was asked, and its answers', async (t) => {
  const members = [member('a'), member('b')]
  const teams: [Team, string][] = [
    [makeTeam({ mode: 'sequence', members }), 'b answers'],
    [
      makeTeam({ mode: 'parallel', members, merge: ([one]) => `at first: ${one!.text}` }),
      'at first: a answers'
    ],
    [makeTeam({ mode: 'parallel', members, merge: (all) => ({ text: '', structured: all.length }) }), '2']
  ]
  for (const [team, answer] of teams) {
    const { start, session, messages } = talkTo(t, team)
    await (await start('Hi')).result()
    await (await start('And?')).result()
    t.match(await session(), { title: 'Hi', turns: 2, activeRun: null })
    t.same(await messages(), [
      ['user', 'Hi'],
      ['assistant', answer],
      ['user', 'And?'],
      ['assistant', answer]
    ])
  }
})

t.test('its turns can be named, and its members follow the branch', async (t) => {
  const { start } = talkTo(t, makeTeam({ mode: 'sequence', members: [echo('a')] }))
  const say = async (input: string, options: StartOptions = {}) => {
    const run = await start(input, options)
    return { runId: run.runId, text: (await run.result()).text }
  }
  const first = await say('one')
  t.equal((await say('two')).text, 'one one two')
  t.equal((await say('three', { afterTurn: first.runId })).text, 'one one three')
})

t.test('a run that fails, or whose caller keeps the conversation, leaves nothing', async (t) => {
  const broken = talkTo(t, makeTeam({ mode: 'sequence', members: [failing('bad')] }))
  await t.rejects((await broken.start('Hi')).result())
  t.same(await broken.messages(), [])
  const { start, messages } = talkTo(t, makeTeam({ mode: 'sequence', members: [echo('a')] }))
  const kept = [{ role: 'user', content: 'Before' }] as const
  const run = await start('Hi', { messages: kept, sessionId: undefined })
  t.equal((await run.result()).text, 'Before Hi')
  t.same(await messages(), [])
})

t.test(
  'a team whose input is no message, or whose conversations are elsewhere, takes no turns',
  async (t) => {
    const flow = defineRunnable({
      kind: 'workflow',
      name: 'flow',
      inputSchema: Type.Object({ n: Type.Number() }),
      run: (input) => ({ text: '', structured: input })
    })
    const typed = makeTeam({ mode: 'sequence', members: [flow] })
    t.equal(typed.takesTurns, false)
    const { start, session, messages } = talkTo(t, typed)
    t.same((await (await start({ n: 1 })).result()).structured, { n: 1 })
    t.match(await session(), { turns: 0 }, 'the session is listed, as that of a workflow')
    t.same(await messages(), [])
    await t.rejects(start({ n: 1 }, { whenBusy: 'reject' }), { code: 'RUN_ERR_WHEN_BUSY' })

    const { sessions } = createInProcessStores()
    const lead = { mode: 'coordinate', members: [member('a')], model: scriptedModel('Done') } as const
    t.equal(makeTeam(lead).takesTurns, true)
    t.equal(makeTeam({ ...lead, sessions }).takesTurns, false)
  }
)
