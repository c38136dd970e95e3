import { Type } from '@sinclair/typebox'
import {
  createInProcessStores,
  defineRunnable,
  type Answer,
  type InputAnswer,
  type Question,
  type RunContext,
  type RunEngine
} from '@svc/registry'
import { toRunRecord } from '../../src/engine/run-record.ts'
import { codeOf, scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const size = Type.Object({ size: Type.Integer({ minimum: 1 }) })
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A run that waits once, and what it got. */
async function start(engine: RunEngine, wait: (context: RunContext) => Promise<Answer>) {
  const outcome = Promise.withResolvers<Answer>()
  outcome.promise.catch(() => {})
  const runnable = scriptedRunnable([
    async (context) => {
      const answered = wait(context)
      answered.then(outcome.resolve, outcome.reject)
      await answered
    }
  ])
  const run = await engine.start(runnable, 'x')
  await turn()
  return { run, inputId: `${run.runId}.1`, outcome: outcome.promise }
}

t.test('a run asks a question and continues with the answer', async (t) => {
  const engine = buildEngine(t)
  const asked = { message: 'Which size?', schema: size, toolCallId: 'c' }
  const { run, inputId, outcome } = await start(engine, (context) => context.child('m').ask(asked))
  const schema: unknown = JSON.parse(JSON.stringify(size))
  const about = { inputId, kind: 'question', ...asked, schema, source: ['m'] }
  t.match(toRunRecord((await engine.find(run.runId))!), {
    status: 'input-required',
    pendingApprovals: [],
    pendingApprovalCount: 0,
    pendingInputs: [{ ...about, runId: run.runId, argsBytes: 0 }],
    pendingInputCount: 1
  })
  const day = 86_400_000
  const { expiresAt } = (await engine.findInput(inputId))!.input
  t.ok(expiresAt > Date.now() + day - 60_000 && expiresAt <= Date.now() + day)
  const answer = { action: 'accept', content: { size: 3 } } as const
  await engine.answer(inputId, answer)
  t.strictSame(await outcome, answer)
  await run.result()
  const parts = await partsOf(run)
  t.match(parts.slice(1), [
    { type: 'input.request', ...about, expiresAt: new Date(expiresAt).toISOString() },
    { type: 'input.response', inputId, ...answer, source: ['m'] },
    { type: 'finish' }
  ])
  t.match(toRunRecord((await engine.find(run.runId))!), { pendingInputs: [], pendingInputCount: 0 })
})

t.test('a question may be declined or canceled, and expires as canceled', async (t) => {
  const engine = buildEngine(t)
  for (const action of ['decline', 'cancel'] as const) {
    const { inputId, outcome } = await start(engine, (context) => context.ask({ message: 'Why?' }))
    await engine.answer(inputId, { action })
    t.strictSame(await outcome, { action })
  }
  const { run, inputId, outcome } = await start(engine, (context) =>
    context.ask({ message: 'Why?', timeout: 5 })
  )
  const keepAlive = setInterval(() => {}, 1_000)
  t.strictSame(await outcome, { action: 'cancel', expired: true })
  clearInterval(keepAlive)
  t.match((await partsOf(run))[2], { type: 'input.response', action: 'cancel' })
  t.equal(await codeOf(() => engine.answer(inputId, { action: 'accept' })), 'RUN_ERR_INPUT_EXPIRED')
})

t.test('the result of a client tool is in no part and no list', async (t) => {
  const engine = buildEngine(t)
  const call = { toolCallId: 'c', toolName: 'locate', args: { near: 'here' } }
  const { run, inputId, outcome } = await start(engine, (context) => context.callClient(call))
  t.match((await engine.listInputs({ kinds: ['tool'], limit: 9 })).inputs, [{ input: { inputId, ...call } }])
  const answer = { action: 'accept', content: { place: 'Marker Street' } } as const
  await engine.answer(inputId, answer)
  t.strictSame(await outcome, answer)
  await run.result()
  const parts = await partsOf(run)
  t.match(parts[1], { type: 'input.request', inputId, kind: 'tool', ...call })
  t.notMatch(JSON.stringify(parts), 'Marker')
})

t.test('an answer that does not fit is refused, and the run waits', async (t) => {
  const engine = buildEngine(t)
  const { run, inputId, outcome } = await start(engine, (context) =>
    context.ask({ message: '?', schema: size })
  )
  let deep: unknown = 1
  for (let level = 0; level < 10_000; level++) deep = [deep]
  const wrong: unknown[] = [
    {},
    { action: 'yes' },
    { approved: true },
    { action: 'accept' },
    { action: 'accept', content: null },
    { action: 'accept', content: { size: 0 } },
    { action: 'accept', content: { size: '3' } },
    { action: 'accept', content: deep },
    { action: 'accept', content: JSON.parse('{"size":1,"__proto__":{}}') },
    { action: 'accept', content: { size: 1, more: 'x'.repeat(1_048_576) } },
    { action: 'accept', content: { size: 1n } },
    { action: 'decline', content: { size: 1 } }
  ]
  for (const answer of wrong) {
    t.equal(await codeOf(() => engine.answer(inputId, answer as InputAnswer)), 'RUN_ERR_BAD_INPUT')
    t.equal((await engine.find(run.runId))?.status, 'input-required')
  }
  for (const id of ['', 'x', `${run.runId}.2`, `${run.runId}.`, 'nobody.1'])
    t.equal(await codeOf(() => engine.answer(id, { action: 'decline' })), 'RUN_ERR_INPUT_NOT_FOUND', id)
  await engine.answer(inputId, { action: 'accept', content: { size: 1 } })
  t.match(await outcome, { content: { size: 1 } })
})

t.test('a pattern that explodes elsewhere is checked in bounded time', async (t) => {
  const engine = buildEngine(t)
  const schema = Type.String({ pattern: '^(a+)+$' })
  const { inputId, outcome } = await start(engine, (context) => context.ask({ message: '?', schema }))
  const content = `${'a'.repeat(100_000)}!`
  t.equal(await codeOf(() => engine.answer(inputId, { action: 'accept', content })), 'RUN_ERR_BAD_INPUT')
  await engine.answer(inputId, { action: 'accept', content: 'aaa' })
  t.match(await outcome, { content: 'aaa' })
})

t.test('a question that cannot be asked is an error of its asker', async (t) => {
  const engine = buildEngine(t)
  let deep: object = { type: 'string' }
  for (let level = 0; level < 10_000; level++) deep = { items: deep }
  const wrong: unknown[] = [
    undefined,
    {},
    { message: '' },
    { message: 5 },
    { message: 'x'.repeat(4_097) },
    { message: '?', schema: 'string' },
    { message: '?', schema: null },
    { message: '?', schema: deep },
    { message: '?', schema: JSON.parse('{"__proto__":{}}') },
    { message: '?', schema: { description: 'x'.repeat(16_384) } },
    { message: '?', timeout: 0 },
    { message: '?', timeout: Number.NaN },
    { message: '?', timeout: '5' }
  ]
  for (const question of wrong) {
    const { run, outcome } = await start(engine, (context) => context.ask(question as Question))
    t.match(await outcome.catch((err: unknown) => err), { code: 'RUN_ERR_BAD_QUESTION' })
    await run.result().catch(() => {})
    t.notMatch(JSON.stringify(await partsOf(run)), 'input.request')
  }
})

t.test('1,000 races of two answers: the first one counts', async (t) => {
  const engine = buildEngine(t, { limits: { maxRuns: 1_000, maxRunsPerOwner: 1_000 } })
  const races = Array.from({ length: 1_000 }, async (_, index) => {
    const { run, inputId, outcome } = await start(engine, (context) =>
      index % 2 === 0
        ? context.ask({ message: '?', schema: Type.Integer() })
        : context.callClient({ toolCallId: 'c', toolName: 't', args: {} })
    )
    const codes = await Promise.all([
      codeOf(() => engine.answer(inputId, { action: 'accept', content: 1 })),
      codeOf(() => engine.answer(inputId, { action: 'accept', content: 2 }))
    ])
    const { content } = await outcome
    await run.result()
    const responses = (await partsOf(run)).filter(({ type }) => type === 'input.response')
    return [codes.filter((code) => code !== 'none'), codes[Number(content) - 1], responses.length]
  })
  for (const race of await Promise.all(races))
    if (!t.same(race, [['RUN_ERR_INPUT_ANSWERED'], 'none', 1])) break
})

t.test('a resumed run that asks the same again gets its earlier answers', async (t) => {
  const stores = createInProcessStores()
  const got: unknown[] = []
  let hold = true
  const runnable = defineRunnable({
    kind: 'workflow',
    name: 'flow',
    resumable: true,
    async *stream(_input, context) {
      // The same question of two members with one name.
      const members = ['1', '2'].map((key) => context.child('m', { key }))
      const asked = [
        ...members.map((member) => member.ask({ message: 'Which?', schema: Type.String() })),
        context.ask({ message: 'Which?', toolCallId: 'c' }),
        context.callClient({ toolCallId: 'c', toolName: 't', args: { a: undefined } })
      ]
      if (hold) await new Promise(() => {})
      got.push(...(await Promise.all(asked.toReversed())))
      yield { type: 'text', text: 'done' }
    }
  })
  const first = buildEngine(t, { stores })
  const { runId } = await first.start(runnable, 'x')
  for (let turns = 0; turns < 5; turns++) await turn()
  const contents = ['one', 'two', 'three', 'four']
  const answer = (engine: RunEngine, index: number) =>
    engine.answer(`${runId}.${index + 1}`, { action: 'accept', content: contents[index] })
  await answer(first, 1)
  await answer(first, 3)
  await first.close()
  hold = false
  const engine = buildEngine(t, { stores })
  await engine.recover()
  t.equal(await engine.resume(runnable), 1)
  await answer(engine, 0)
  await answer(engine, 2)
  const parts = await partsOf({ parts: (after) => engine.parts(runId, after) })
  t.strictSame(
    got,
    contents.toReversed().map((content) => ({ action: 'accept', content }))
  )
  t.equal(parts.filter(({ type }) => type === 'input.request').length, 4)
  t.equal(parts.filter(({ type }) => type === 'input.response').length, 4)
})

t.test('what a resumed run does not ask again is canceled when its tool call ends', async (t) => {
  const stores = createInProcessStores()
  let resumed = false
  const ended = {
    type: 'tool.error',
    toolName: 't',
    error: { code: 'GONE', message: 'no such tool' }
  } as const
  const runnable = defineRunnable({
    kind: 'workflow',
    name: 'flow',
    resumable: true,
    async *stream(_input, context) {
      if (!resumed)
        await Promise.all(['a', 'b'].map((toolCallId) => context.ask({ message: '?', toolCallId })))
      yield { ...ended, toolCallId: 'a' }
      yield { type: 'data', name: 'b', value: await context.ask({ message: '?', toolCallId: 'b' }) }
      yield { ...ended, toolCallId: 'b' }
    }
  })
  const first = buildEngine(t, { stores })
  const { runId } = await first.start(runnable, 'x')
  for (let turns = 0; turns < 5; turns++) await turn()
  await first.close()
  resumed = true
  const engine = buildEngine(t, { stores })
  await engine.recover()
  await engine.resume(runnable)
  const types: string[] = []
  for await (const part of engine.parts(runId)) {
    types.push(part.type)
    if (part.type !== 'input.response' || part.inputId !== `${runId}.1`) continue
    t.equal(part.action, 'cancel')
    await t.rejects(engine.answer(`${runId}.1`, { action: 'accept' }), { code: 'RUN_ERR_INPUT_EXPIRED' })
    await engine.answer(`${runId}.2`, { action: 'accept' })
  }
  t.equal(types.filter((type) => type === 'input.request').length, 2)
  t.match(await engine.get(runId), { status: 'completed' })
})

t.test('a parent is notified of what its children wait for, once it can be answered', async (t) => {
  const engine = buildEngine(t)
  const settled: unknown[] = []
  const { run, inputId, outcome } = await start(engine, (context) => {
    const parent = context.child('call', {
      onInput: async ({ request, settled: over }) => {
        if (request.type !== 'input.request') return
        await engine.answer(request.inputId, { action: 'accept', content: 'seen' })
        await over
        settled.push(request)
      }
    })
    return parent.child('m').callClient({ toolCallId: 'c', toolName: 'look', args: {} })
  })
  t.strictSame(await outcome, { action: 'accept', content: 'seen' })
  await run.result()
  t.match(settled, [{ inputId, kind: 'tool', toolName: 'look', source: ['call', 'm'] }])
})
