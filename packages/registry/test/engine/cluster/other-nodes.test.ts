import { setImmediate as turn } from 'node:timers/promises'
import { defineRunnable, type RunContext } from '@svc/registry'
import { scriptedRunnable, steppedRunnable } from '@svc/testing'
import t from 'tap'
import { partsOf } from '../../helpers/collect.ts'
import {
  cluster,
  codeOf,
  requireWhole,
  textOf,
  type Member,
  stayAlive
} from '../../helpers/engine-cluster.ts'

stayAlive(t)

t.test('a run can be canceled on another node', async (t) => {
  const agent = scriptedRunnable([{ type: 'text', text: 'a' }, () => new Promise(() => {})])
  const [first, second, third] = (await cluster(t, [agent], 3)) as [Member, Member, Member]
  const run = await first.engine.start(agent, 'x')
  const parts = partsOf({ parts: (after) => third.engine.parts(run.runId, after) })
  t.match(await second.engine.cancel(run.runId), { status: 'canceled' })
  t.match(await run.result(), { finishReason: 'canceled' })
  requireWhole(t, await parts)
  await t.rejects(second.engine.cancel(run.runId), { code: 'RUN_ERR_TERMINAL' })
  await t.rejects(second.engine.cancel('missing'), { code: 'RUN_ERR_NOT_FOUND' })
})

t.test('a run whose node died is canceled by the node that is asked, or that takes it', async (t) => {
  const flow = steppedRunnable(['one'], () => new Promise(() => {}))
  const [first, second] = (await cluster(t, [flow])) as [Member, Member]
  const [asked, left] = [await first.engine.start(flow, 'x'), await first.engine.start(flow, 'x')]
  await first.node.stores.runs.requestCancel(left.runId)
  first.node.loseContact()
  first.node.declareDead()
  t.match(await second.engine.cancel(asked.runId), { status: 'canceled' })
  const parts = await partsOf({ parts: (after) => second.engine.parts(left.runId, after) })
  t.match(parts.at(-1), { type: 'finish', finishReason: 'canceled' })
  t.match(await second.engine.get(left.runId), { status: 'canceled' })
})

t.test('cancel against end: one of them happens, on all nodes the same', async (t) => {
  const gates: (() => void)[] = []
  const agent = scriptedRunnable([() => new Promise<void>((resolve) => void gates.push(resolve))])
  const [first, second] = (await cluster(t, [agent])) as [Member, Member]
  for (let round = 0; round < 50; round++) {
    const run = await first.engine.start(agent, 'x')
    for (let count = 0; count < round % 5; count++) await turn()
    const canceled = codeOf(second.engine.cancel(run.runId))
    for (let count = 0; count < round % 3; count++) await turn()
    gates[round]?.()
    const { finishReason } = await run.result()
    t.equal(await canceled, finishReason === 'canceled' ? 'none' : 'RUN_ERR_TERMINAL')
    const parts = await partsOf({ parts: (after) => second.engine.parts(run.runId, after) })
    t.equal(parts.filter(({ type }) => type === 'finish').length, 1)
  }
})

t.test('an input is answered on any node; the first answer counts', async (t) => {
  const asking = defineRunnable({
    kind: 'agent',
    name: 'asking',
    async *stream(_input, context) {
      const { approved, reason } = await context.approvals.request({
        toolCallId: 'c',
        toolName: 't',
        args: {}
      })
      yield { type: 'text', text: `${approved} ${reason}` }
    }
  })
  const [first, second, third] = (await cluster(t, [asking], 3)) as [Member, Member, Member]
  for (let round = 0; round < 20; round++) {
    const run = await first.engine.start(asking, 'x')
    const inputId = `${run.runId}.1`
    while ((await second.engine.findInput(inputId)) === undefined) await turn()
    const answers = await Promise.all(
      [second, third].map(({ engine }, index) =>
        codeOf(engine.answer(inputId, { approved: true, reason: `by ${index}` }))
      )
    )
    t.same(answers.map(String).toSorted(), ['RUN_ERR_INPUT_ANSWERED', 'none'])
    t.match(await run.result(), { text: `true by ${answers.indexOf('none')}` })
  }
})

t.test('an answer to a run of a dead node is delivered by the node that takes it', async (t) => {
  const asking = steppedRunnable([], () => {})
  const flow = defineRunnable({
    ...asking,
    name: 'asking',
    resumable: true,
    async *stream(_input: unknown, context: RunContext) {
      const { approved } = await context.approvals.request({ toolCallId: 'c', toolName: 't', args: {} })
      yield { type: 'text', text: String(approved) }
    }
  } as never)
  const [first, second, third] = (await cluster(t, [flow], 3)) as [Member, Member, Member]
  const run = await first.engine.start(flow, 'x')
  const inputId = `${run.runId}.1`
  while ((await second.engine.findInput(inputId)) === undefined) await turn()
  first.node.loseContact()
  first.node.declareDead()
  await third.engine.answer(inputId, { approved: true })
  const parts = await partsOf({ parts: (after) => second.engine.parts(run.runId, after) })
  requireWhole(t, parts)
  t.equal(textOf(parts), 'true')
  t.equal(parts.filter(({ type }) => type === 'tool.approval.request').length, 1)
})

t.test('the runs of an owner are counted on all nodes', async (t) => {
  const agent = scriptedRunnable([() => new Promise(() => {})])
  const [first, second] = (await cluster(t, [agent], 2, { limits: { maxRunsPerOwner: 2 } })) as [
    Member,
    Member
  ]
  const ada = { principal: { sub: 'ada', scopes: [] } }
  const run = await first.engine.start(agent, 'x', ada)
  await second.engine.start(agent, 'x', ada)
  for (const { engine } of [first, second]) {
    const { active } = engine
    await t.rejects(engine.start(agent, 'x', ada), { code: 'RUN_ERR_TOO_MANY_RUNS' })
    t.equal(engine.active, active)
    t.equal((await engine.list({ limit: 10 })).runs.length, 2, 'a refused run is not stored')
  }
  await first.engine.start(agent, 'x', { principal: { sub: 'grace', scopes: [] } })
  await run.cancel()
  await second.engine.start(agent, 'x', ada)
  await first.engine.start(agent, 'x')
})
