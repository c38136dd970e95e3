import {
  createInProcessStores,
  createRunEngine,
  type RunEngine,
  type Runnable,
  type StartOptions
} from '@svc/registry'
import { Agent, Team, Workflow } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t, { type Test } from 'tap'

type Prompt = Parameters<
  Extract<Parameters<typeof scriptedModel>[0], (...args: never) => unknown>
>[0]['prompt']

/** The texts of a prompt after the instructions. */
const said = (prompt: Prompt) =>
  prompt.flatMap(({ role, content }) =>
    role === 'system' || role === 'tool' || typeof content === 'string'
      ? []
      : content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  )

/** A model that answers with all it was given. */
const echo = () => scriptedModel(({ prompt }) => said(prompt).join(' '))

function makeEngine(t: Test): RunEngine {
  const engine = createRunEngine({ stores: createInProcessStores() })
  t.teardown(() => engine.close())
  return engine
}

const talk = (engine: RunEngine, runnable: Runnable, sessionId = 's') => {
  const start = (input: string, options: StartOptions = {}) =>
    engine.start(runnable, input, { sessionId, ...options })
  const say = async (input: string, afterTurn?: string | null, options: StartOptions = {}) => {
    const run = await start(input, { afterTurn, ...options })
    return { runId: run.runId, text: (await run.result()).text }
  }
  return { start, say }
}

t.test('a start names the turn that it continues', async (t) => {
  const engine = makeEngine(t)
  const agent = new Agent({ name: 'branching', model: echo(), register: false })
  const { start, say } = talk(engine, agent)
  const a = await say('a')
  const b = await say('b')
  t.equal(b.text, 'a a b')
  const edited = await say('edited', a.runId)
  t.equal(edited.text, 'a a edited')
  t.equal((await say('c')).text, 'a a edited a a edited c', 'the newest branch goes first')
  t.equal((await say('d', b.runId)).text, 'a a b a a b d', 'nothing was overwritten')
  t.equal((await say('anew', null)).text, 'anew')
  t.equal((await say('queued', a.runId, { queue: true })).text, 'a a queued', 'the queue keeps it')
  const key = {
    registry: 'global',
    kind: 'agent',
    name: 'branching',
    owner: 'anonymous',
    sessionId: 's'
  } as const
  const { messages, branches } = await engine.stores.sessionIndex!.messages(key, {
    limit: 9,
    branch: b.runId
  })
  t.equal(messages.length, 6)
  t.equal(branches.length, 2)
  for (const [afterTurn, code, sessionId] of [
    ['unknown', 'RUN_ERR_NO_TURN', 's'],
    [a.runId, 'RUN_ERR_NO_TURN', 'other'],
    [a.runId, 'RUN_ERR_BAD_INPUT', undefined],
    ['', 'RUN_ERR_BAD_INPUT', 's'],
    [7 as never, 'RUN_ERR_BAD_INPUT', 's']
  ] as const)
    await t.rejects(start('x', { afterTurn, sessionId }), { code })
  await t.rejects(start('x', { afterTurn: a.runId, whenBusy: 'steer' }), { code: 'RUN_ERR_WHEN_BUSY' })
  t.equal((await engine.list({ limit: 99 })).runs.length, 7, 'nothing is stored of a refused start')
})

t.test('what takes no turns continues after none', async (t) => {
  const engine = makeEngine(t)
  const flow = new Workflow({
    name: 'flow',
    steps: (begin) => begin.step('only', () => 'done'),
    register: false
  })
  const { sessions } = createInProcessStores()
  const own = new Agent({ name: 'own', model: echo(), sessions, register: false })
  for (const runnable of [flow, own])
    await t.rejects(talk(engine, runnable).start('x', { afterTurn: null }), { code: 'RUN_ERR_BAD_INPUT' })
})

t.test('queued runs continue after the newest turn of their time, or the named one', async (t) => {
  const engine = makeEngine(t)
  const gate = Promise.withResolvers<void>()
  const agent = new Agent({
    name: 'queueing',
    model: echo(),
    instructions: async ({ metadata }) => {
      if (metadata['wait'] !== undefined) await gate.promise
      return 'Echo.'
    },
    register: false
  })
  const { start, say } = talk(engine, agent)
  const a = await say('a')
  const runs = [
    await start('slow', { metadata: { wait: 'yes' } }),
    await start('b'),
    await start('c', { afterTurn: a.runId }),
    await start('d')
  ]
  gate.resolve()
  const texts = (await Promise.all(runs.map((run) => run.result()))).map(({ text }) => text)
  t.same(texts, ['a a slow', 'a a slow a a slow b', 'a a c', 'a a c a a c d'])
})

t.test('what an interrupted run has said stays on the branch that it began', async (t) => {
  const engine = makeEngine(t)
  const agent = new Agent({
    name: 'interrupted',
    model: echo(),
    instructions: ({ metadata, signal }) =>
      metadata['wait'] === undefined
        ? 'Echo.'
        : new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    register: false
  })
  const { start, say } = talk(engine, agent)
  const a = await say('a')
  await say('b')
  const slow = await start('slow', { afterTurn: a.runId, metadata: { wait: 'yes' } })
  for await (const { type } of slow.parts()) if (type === 'start') break
  const next = await say('next', undefined, { whenBusy: 'interrupt' })
  t.match(next.text, /^a a slow .*next$/)
  t.equal((await say('c', a.runId)).text, 'a a c')
})

t.test('a start that is repeated needs its turn no more', async (t) => {
  const engine = makeEngine(t)
  const { start, say } = talk(engine, new Agent({ name: 'repeated', model: echo(), register: false }))
  const a = await say('a')
  const options = { afterTurn: a.runId, startKey: { key: 'k', hash: 'h' } }
  const first = await start('b', options)
  await first.result()
  const { registry, kind, name } = (await engine.get(first.runId))!
  await engine.stores.sessions.remove({ registry, kind, name, owner: 'anonymous', sessionId: 's' })
  t.equal((await start('b', options)).runId, first.runId)
  await t.rejects(start('b', { afterTurn: a.runId }), { code: 'RUN_ERR_NO_TURN' })
})

t.test('members continue on the branch of their team', async (t) => {
  const engine = makeEngine(t)
  const member = new Agent({ name: 'member', model: echo(), register: false })
  const model = scriptedModel(({ prompt }) => {
    const last = prompt.at(-1)!
    if (last.role !== 'user') return JSON.stringify(last.content)
    return { toolCalls: [{ toolName: 'member', args: { message: said([last])[0]! } }] }
  })
  const team = new Team({ name: 'crew', mode: 'coordinate', model, members: [member], register: false })
  const { say } = talk(engine, team)
  const heard = async (input: string, afterTurn?: string | null) => {
    const { runId, text } = await say(input, afterTurn)
    return { runId, heard: /"value":"([^"]*)"/.exec(text)?.[1] }
  }
  const a = await heard('a')
  t.equal((await heard('b')).heard, 'a a b')
  t.equal((await heard('c', a.runId)).heard, 'a a c')
  t.equal((await heard('d')).heard, 'a a c a a c d', 'members do not see other branches')
  t.equal((await heard('e', null)).heard, 'e')
})

t.test('a summary is that of the branch', async (t) => {
  const engine = makeEngine(t)
  const model = scriptedModel(({ prompt }) => {
    const texts = said(prompt).join('\n')
    if (prompt[0]?.role !== 'system') return /<summary>\n(.*)/.exec(texts)?.[1] ?? 'none'
    const [known = ''] = texts.split('The user asks now')
    return `sum ${[...new Set(known.match(/q\d+/g))].join(' ')}`
  })
  const { say } = talk(
    engine,
    new Agent({ name: 'summing', model, history: { maxMessages: 4 }, register: false })
  )
  const q1 = await say('q1')
  const q2 = await say('q2')
  t.equal((await say('q3')).text, 'none')
  const q4 = await say('q4')
  t.equal(q4.text, 'sum q1 q2')
  t.equal((await say('q5', q1.runId)).text, 'none', 'it has what was known then')
  t.equal((await say('q6')).text, 'none')
  t.equal((await say('q7')).text, 'sum q1 q5')
  t.match((await say('q8', q4.runId)).text, /^sum q1 q2\b(?!.*q5)/, 'the other branch keeps its own')
  t.equal((await say('q9', null)).text, 'none')
  t.equal((await say('q10', q2.runId)).text, 'none', 'a turn before the summary has the messages')
})
