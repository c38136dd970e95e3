import t from 'tap'
import { removeSession } from '@svc/surface'
import { supportAgent } from '../helpers/agents.ts'
import { agentsApp, collect, refusalOf } from './helpers/agents-app.ts'

const environment = { type: 'none' } as const

t.test('a fork has the turns and items of the session that it continues', async (t) => {
  const { add } = supportAgent(
    ({ prompt }) => `Answer ${prompt.filter(({ role }) => role === 'user').length}`
  )
  const { app, client } = await agentsApp(t, { add })
  const { sessions } = client().beta.agents
  const { runs } = app
  const { id } = await sessions.create({ agent_id: 'support', environment })
  const say = async (to: string, input: string) =>
    (await sessions.stream(to, { input }).finalResult()).turn.id
  const [first, second, third] = [await say(id, 'one'), await say(id, 'two'), await say(id, 'three')]
  const key = {
    registry: 'global',
    kind: 'agent',
    name: 'support',
    owner: 'anonymous',
    sessionId: id
  } as const
  const fork = async (of: string, sessionId: string, runId: string) => {
    await runs.sessions.fork({ ...key, sessionId: of }, { sessionId, runId })
    return sessionId
  }
  const once = await fork(id, 'once', second)
  const own = await say(once, 'else')
  const twice = await fork(once, 'twice', own)
  const last = await say(twice, 'more')

  const turnsOf = async (of: string, order: 'asc' | 'desc', limit: number) =>
    (await collect(sessions.turns.list(of, { order, limit }))).map((turn) => turn.id)
  for (const limit of [1, 2, 100]) {
    t.same(await turnsOf(once, 'asc', limit), [first, second, own])
    t.same(await turnsOf(once, 'desc', limit), [own, second, first])
    t.same(await turnsOf(twice, 'asc', limit), [first, second, own, last])
    t.same(await turnsOf(twice, 'desc', limit), [last, own, second, first])
    t.same(await turnsOf(id, 'asc', limit), [first, second, third], 'the session itself has its own')
  }
  const saidIn = async (of: string, limit = 1) =>
    (await collect(sessions.items.list(of, { order: 'asc', limit }))).map(
      (item) => (item as { content: { text: string }[] }).content[0]!.text
    )
  const said = ['one', 'Answer 1', 'two', 'Answer 2', 'else', 'Answer 3', 'more', 'Answer 4']
  t.same(await saidIn(twice), said)
  t.match(await sessions.turns.retrieve(first, { session_id: twice }), {
    id: first,
    session_id: twice,
    status: 'completed'
  })
  t.equal((await sessions.turns.items.list(second, { session_id: twice })).data.length, 2)
  for (const runId of [third, 'none'])
    t.match(await refusalOf(sessions.turns.retrieve(runId, { session_id: twice })), { status: 404 })
  t.match(await refusalOf(sessions.turns.list(twice, { after: third })), { code: 'OPENAI_ERR_BAD_CURSOR' })

  await removeSession(runs, key)
  t.same(await saidIn(twice, 3), said, 'its history stays where the session that began it is deleted')
  t.equal((await sessions.turns.retrieve(first, { session_id: twice })).status, 'completed')
})
