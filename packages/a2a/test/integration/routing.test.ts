import { createRegistry, type Runnable } from '@svc/registry'
import t from 'tap'
import { buildApp, echo, say, sayV1 } from '../helpers/build-app.ts'

const named = (name: string) => ({ ...echo, name })

t.test('the agent of a message', async (t) => {
  const runnables = ['first', 'ada', 'ada-two', 'bob'].map(named)
  const { rpc } = await buildApp(t, { runnables })
  const agentOf = async (text: string, fields = {}, more = {}) => {
    const { result } = await rpc('message/send', { ...say(text, fields), ...more })
    return result.metadata.agentName
  }
  t.equal(await agentOf('to bob', { metadata: { agentName: 'ada' } }), 'ada', 'the one that is named')
  t.equal(await agentOf('x', {}, { metadata: { agentName: 'ada' } }), 'ada', 'named beside the message')
  t.equal(await agentOf('hey BOB, and ada'), 'bob', 'the first mentioned')
  t.equal(await agentOf('ada-two?'), 'ada-two', 'the longer of two')
  t.equal(await agentOf('bobby and nada'), 'first', 'whole words only')
  t.equal(await agentOf('nobody'), 'first', 'else the first')
  t.equal(await agentOf('bob', { contextId: 'c' }), 'bob')
  t.equal(await agentOf('again', { contextId: 'c' }), 'bob', 'the last of the context')
  t.equal(await agentOf('ada now', { contextId: 'c' }), 'ada', 'a mention goes before the context')

  t.match(await rpc('message/send', say('x', { metadata: { agentName: 'nobody' } })), {
    error: { code: -32602, message: /"nobody".*"first", "ada", "ada-two", "bob"/ }
  })
  t.match(await rpc('message/send', say('x', { metadata: { agentName: 1 } })), { error: { code: -32602 } })
})

t.test('messages are answered whatever names a custom registry returns', async (t) => {
  const nameless = { ...named('first'), name: '' }
  const made = createRegistry().add(named('x'))
  const agents = [nameless, named('ada')].map(({ name }): Runnable => ({
    kind: 'agent',
    name,
    run: (input, context) => made.run(input, context),
    stream: (input, context) => made.stream(input, context),
    describe: () => made.describe()
  }))
  const registry = {
    get: (_kind: string, name: string) => agents.find((agent) => agent.name === name),
    list: () => agents
  }
  const { rpc } = await buildApp(t, { options: { registry: registry as never } })
  t.match(await rpc('message/send', say('to ada')), { result: { metadata: { agentName: 'ada' } } })
  t.match(await rpc('message/send', say('to nobody')), { result: { metadata: { agentName: '' } } })
})

t.test('a text of 1 MB full of near mentions is answered as fast as any other', async (t) => {
  const marks = named(`${'!'.repeat(127)}a`)
  const { rpc } = await buildApp(t, {
    runnables: [named('first'), marks, named('aaa')],
    options: { limits: { bodyLimit: 2_000_000 } }
  })
  const measure = async (text: string) => {
    const begun = performance.now()
    const { result } = await rpc('message/send', { ...say(text), configuration: { historyLength: 0 } })
    t.equal(result.metadata.agentName, 'first')
    return performance.now() - begun
  }
  await measure('.'.repeat(1_000_000))
  const plain = await measure('.'.repeat(1_000_000))
  for (const text of ['!'.repeat(1_000_000), 'a'.repeat(1_000_000)]) {
    const took = await measure(text)
    t.ok(took < 20 * plain + 500, `${took} ms, and ${plain} ms without`)
  }
})

t.test('no agent at all', async (t) => {
  const { rpc } = await buildApp(t, { runnables: [] })
  t.match(await rpc('message/send', say('x')), { error: { code: -32004 } })
})

t.test('an agent that is added later is found', async (t) => {
  const { rpc, app, origin } = await buildApp(t, { runnables: [echo] })
  app.registry.add(named('later'))
  const { result } = await rpc('message/send', say('later'))
  t.equal(result.metadata.agentName, 'later')
  const card = (await (await fetch(`${origin}/.well-known/agent-card.json`)).json()) as { skills: object[] }
  t.equal(card.skills.length, 2)
})

t.test('runnables of any kind, given by name', async (t) => {
  const { rpc } = await buildApp(t, {
    options: { agents: { x: echo, y: { ...echo, kind: 'team', name: 'other' } } }
  })
  const { result } = await rpc('SendMessage', sayV1('y'))
  t.equal(result.task.metadata.agentName, 'y')
  t.match(await rpc('message/send', say('x', { metadata: { agentName: 'echo' } })), {
    error: { code: -32602 }
  })
})

t.test('one context is one session', async (t) => {
  const sessions: string[] = []
  const { rpc } = await buildApp(t, {
    runnables: [
      {
        kind: 'agent',
        name: 'seer',
        run(_input, context) {
          sessions.push(context.sessionId)
          return 'seen'
        }
      }
    ]
  })
  const first = await rpc('message/send', say('x'))
  const second = await rpc('message/send', say('x', { contextId: first.result.contextId }))
  t.equal(second.result.contextId, first.result.contextId)
  t.not(second.result.id, first.result.id)
  t.equal(sessions[0], sessions[1])
  t.equal(sessions[0], first.result.contextId)
})
