import { createInProcessStores, type NumberedPart, type Run, type RunEngine } from '@svc/registry'
import { Agent, defineTool, Team } from '@svc/runtime'
import { Type } from '@sinclair/typebox'
import t from 'tap'
import {
  ask,
  engineFor,
  factsIn,
  faultsIn,
  jsonOf,
  key,
  listener,
  look,
  make,
  messagesOf
} from '../helpers/listener.ts'
import { survive, validParts } from '../helpers/crashing.ts'

const LONG = 'words '.repeat(200)

async function ended(engine: RunEngine, run: Run) {
  const result = await run.result()
  const parts: NumberedPart[] = []
  for await (const part of engine.parts(run.runId)) parts.push(part)
  return { result, parts, compactions: parts.filter((part) => part.type === 'compaction') }
}

t.test('a session is compacted as its owner asks, and goes on from the summary', async (t) => {
  const { model, prompts, summaries } = listener()
  const stores = createInProcessStores()
  const engine = engineFor(t, stores)
  const agent = make(model, { tools: [look(3_000)], history: { compact: { keep: 4 } } })
  for (let turn = 1; turn <= 8; turn++) await ask(engine, agent, `FACT-${turn} ${LONG}`)
  await ask(engine, agent, 'FACT-9 CALLS-2')
  const heard = prompts.length
  const before = messagesOf(stores)
  const run = await engine.start(agent, undefined, { sessionId: 's', compact: true })
  const { result, parts, compactions } = await ended(engine, run)
  t.match(result, { text: '', finishReason: 'stop', sessionId: 's' })
  t.strictSame(
    parts.map(({ type }) => type),
    ['start', 'compaction', 'finish']
  )
  t.equal(prompts.length, heard, 'the agent is not asked')
  t.equal(summaries.length, 1)
  const [compaction] = compactions
  t.match(compaction, { reason: 'asked', index: 0, text: /FACT-1 FACT-2/ })
  t.ok(compaction!.messages > 0 && compaction!.after < compaction!.before)
  t.strictSame(result.usage, compaction!.usage)
  const after = messagesOf(stores)
  t.strictSame(after.slice(0, -1), before, 'all messages are kept')
  t.match(after.at(-1), { role: 'summary', keeps: compaction!.keeps })
  await ask(engine, agent, 'And now?')
  const prompt = jsonOf(prompts.at(-1)!)
  t.match(prompt, '<summary>')
  t.equal(factsIn(prompt).length, 11)
  t.ok(prompt.split(LONG).length - 1 < 4, 'what was left out is in the summary alone')
  t.strictSame(prompts.flatMap(faultsIn), [])
})

t.test('a session without anything to leave out stays as it is', async (t) => {
  const { model, summaries } = listener()
  const stores = createInProcessStores()
  const engine = engineFor(t, stores)
  const agent = make(model)
  const compact = async () =>
    ended(engine, await engine.start(agent, undefined, { sessionId: 's', compact: true }))
  t.equal((await compact()).compactions.length, 0, 'no session')
  await ask(engine, agent, 'Hi')
  const before = messagesOf(stores)
  t.strictSame(
    (await compact()).parts.map(({ type }) => type),
    ['start', 'finish']
  )
  t.strictSame(messagesOf(stores), before)
  t.equal(summaries.length, 0)
})

t.test('what no session can be compacted with', async (t) => {
  const { model } = listener()
  const engine = engineFor(t)
  const agent = make(model, { whenBusy: 'steer' })
  const start = (more: object, input?: string, runnable = agent) =>
    engine.start(runnable, input, { sessionId: 's', compact: true, ...more })
  await t.rejects(start({}, 'Hi'), { code: 'RUN_ERR_BAD_INPUT' })
  await t.rejects(start({ sessionId: undefined }), { code: 'RUN_ERR_BAD_INPUT' })
  await t.rejects(start({ instructions: 'Be brief.' }), { code: 'RUN_ERR_BAD_INPUT' })
  await t.rejects(start({ messages: [{ role: 'user', content: 'Hi' }] }), { code: 'RUN_ERR_BAD_INPUT' })
  for (const whenBusy of ['steer', 'interrupt', 'replace'])
    await t.rejects(start({ whenBusy }), { code: 'RUN_ERR_WHEN_BUSY' })
  const none = new Agent({ name: 'b', register: false, model, history: { compact: false } })
  await t.rejects(start({}, undefined, none), { code: 'RUN_ERR_NO_COMPACTION' })
  const flat = new Team({ name: 'c', register: false, mode: 'sequence', members: [agent, none] })
  await t.rejects(engine.start(flat, undefined, { sessionId: 's', compact: true }), {
    code: 'RUN_ERR_NO_COMPACTION'
  })
  t.equal((await (await start({})).result()).text, '', 'whenBusy of the agent is for messages')
})

t.test('it takes its turn: after a run under way, or not at all', async (t) => {
  const { model, prompts } = listener()
  const stores = createInProcessStores()
  const engine = engineFor(t, stores)
  const gate = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const waiting = defineTool({
    name: 'look',
    description: 'Looks something up',
    input: Type.Object({ at: Type.Integer() }),
    async execute({ at }) {
      begun.resolve()
      await gate.promise
      return `LOOK-${at}`
    }
  })
  // What the agent says of messages is not for compactions.
  const agent = make(model, { whenBusy: 'reject', tools: [waiting], history: { compact: { keep: 2 } } })
  for (let turn = 1; turn <= 3; turn++) await ask(engine, agent, `FACT-${turn} ${LONG}`)
  const run = await engine.start(agent, 'CALLS-1', { sessionId: 's' })
  await begun.promise
  const rejected = engine.start(agent, undefined, { sessionId: 's', compact: true, whenBusy: 'reject' })
  await t.rejects(rejected, { code: 'RUN_ERR_SESSION_BUSY' })
  const compacting = await engine.start(agent, undefined, { sessionId: 's', compact: true })
  t.ok(compacting.queued)
  // A message does not join a run that only compacts.
  const later = await engine.start(agent, 'FACT-9', { sessionId: 's', whenBusy: 'queue' })
  t.equal(await engine.steer(compacting.runId, 'Hello'), false)
  gate.resolve()
  await run.result()
  t.equal((await ended(engine, compacting)).compactions.length, 1)
  await later.result()
  t.match(jsonOf(prompts.at(-1)!), /<summary>.*FACT-9/)
})

t.test('the leader of a team compacts the session of its team', async (t) => {
  const { model, prompts } = listener()
  const engine = engineFor(t)
  const member = make(listener().model)
  const history = { compact: { keep: 2 } }
  const team = new Team({ name: 'c', register: false, mode: 'coordinate', model, members: [member], history })
  const say = async (input: string | undefined, more: object = {}) =>
    ended(engine, await engine.start(team, input, { sessionId: 't', ...more }))
  for (let turn = 1; turn <= 4; turn++) await say(`FACT-${turn} ${LONG}`)
  t.match((await say(undefined, { compact: true })).compactions, [{ reason: 'asked' }])
  await say('And?')
  t.match(jsonOf(prompts.at(-1)!), /<summary>.*FACT-1/)
})

t.test('a crash inside it writes no summary twice that is recorded', async (t) => {
  const history = Array.from({ length: 12 }, (_, at) =>
    at % 2 === 0
      ? ({ role: 'user', content: `FACT-${at} ${LONG}` } as const)
      : ({ role: 'assistant', text: 'Noted.' } as const)
  )
  const run = (lifetimes: number[], made: ReturnType<typeof listener>) =>
    survive(() => make(made.model, { history: { compact: { keep: 6 } } }), lifetimes, {
      input: undefined,
      options: { sessionId: 's', compact: true },
      before: (stores) => stores.sessions.append(key, 'earlier', history)
    })
  const { appends } = await run([], listener())
  for (let lifetime = 1; lifetime <= appends; lifetime++) {
    const made = listener()
    const survived = await run([lifetime], made)
    t.equal(survived.status, 'completed', `append ${lifetime + 1}`)
    t.ok(made.summaries.length <= (lifetime === 1 ? 2 : 1), `${made.summaries.length} summaries`)
    const parts = validParts(survived.parts)
    t.equal(parts.filter(({ type }) => type === 'compaction').length, 1)
    const saved = messagesOf(survived.stores).filter(({ role }) => role === 'summary')
    t.match(saved, [{ role: 'summary', text: /FACT-0/ }])
  }
})
