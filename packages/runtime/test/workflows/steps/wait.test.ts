import { createRunEngine, type Run } from '@svc/registry'
import { toRunRecord } from '@svc/registry/engine'
import t from 'tap'
import { runIn } from '../../helpers/make-team.ts'
import { crashIn, goOn, makeWorkflow } from '../../helpers/make-workflow.ts'

const review = (denied?: 'continue', timeout?: number) =>
  makeWorkflow((flow) =>
    flow
      .step('draft', () => 'a draft')
      .wait('review', {
        approval: {
          args: ({ previous }) => ({ draft: previous }),
          ...(denied && { denied }),
          ...(timeout && { timeout })
        }
      })
      .step('publish', ({ previous, steps }) => [previous, steps.review])
  )

async function approvalIdOf(run: Pick<Run, 'parts'>): Promise<string> {
  for await (const part of run.parts()) if (part.type === 'tool.approval.request') return part.approvalId
  throw new Error('no approval')
}

t.test('waits for a human, whose answer is the output', async (t) => {
  const engine = createRunEngine({ drainTimeout: 0 })
  t.teardown(() => engine.close())
  const run = await engine.start(review(), 'x')
  const approvalId = await approvalIdOf(run)
  t.match(toRunRecord((await engine.find(run.runId))!), {
    status: 'input-required',
    pendingApprovals: [
      { toolName: 'review', toolCallId: 'review', args: { draft: 'a draft' }, source: ['review'] }
    ]
  })
  await engine.answer(approvalId, { approved: true, args: { draft: 'a better one' } })
  t.same((await run.result()).structured, ['a draft', { approved: true, args: { draft: 'a better one' } }])
})

t.test('a denial fails the run, unless it is to go on', async (t) => {
  const engine = createRunEngine({ drainTimeout: 0 })
  t.teardown(() => engine.close())
  const strict = await engine.start(review(), 'x')
  await engine.answer(await approvalIdOf(strict), { approved: false, reason: 'too long' })
  await t.rejects(strict.result(), {
    code: 'RUN_ERR_APPROVAL_DENIED',
    message: /"review" was denied: too long/
  })
  const mild = await engine.start(review('continue'), 'x')
  await engine.answer(await approvalIdOf(mild), { approved: false, reason: 'no' })
  t.match((await mild.result()).structured, ['a draft', { approved: false, reason: 'no' }])
  const keepAlive = setInterval(() => {}, 1_000)
  const late = await engine.start(review(undefined, 10), 'x')
  await t.rejects(late.result(), { code: 'RUN_ERR_APPROVAL_DENIED', message: /not approved in time/ })
  clearInterval(keepAlive)
  await t.rejects(
    review().run('x'),
    { code: 'RUN_ERR_APPROVAL_DENIED' },
    'nobody can answer without an engine'
  )
})

t.test('the wait for a human lasts over a restart, and drafts are not written again', async (t) => {
  for (const answered of ['before', 'after']) {
    let drafts = 0
    const flow = makeWorkflow((steps) =>
      steps
        .step('draft', () => `draft ${++drafts}`)
        .wait('review', { approval: { args: ({ previous }) => ({ previous }) } })
        .step('publish', ({ steps: given }) => given.review)
    )
    const { stores, runId } = await crashIn(flow, 'x', () => drafts === 1)
    if (answered === 'before') await stores.runs.answerInput(runId, `${runId}.1`, { action: 'accept' })
    const answer = async () => {
      const engine = createRunEngine({ stores })
      await engine.answer(`${runId}.1`, { approved: true })
      await engine.close()
    }
    const { result, parts, resumed } = await goOn(flow, stores, runId, () => answered === 'after' && answer())
    t.equal(resumed, 1)
    t.match(result, { structured: { approved: true } }, answered)
    t.equal(drafts, 1)
    t.equal(parts.filter(({ type }) => type === 'tool.approval.request').length, 1)
    t.equal(parts.filter(({ type }) => type === 'tool.approval.response').length, 1)
  }
})

t.test('sleeps, and after a restart for what is left', async (t) => {
  const started = performance.now()
  const naps = makeWorkflow((flow) =>
    flow.step('a', () => 'a').wait('nap', { sleep: ({ previous }) => previous.length * 30 })
  )
  t.match((await runIn(naps)).result, { text: 'a' })
  t.ok(performance.now() - started >= 29)

  const slept = makeWorkflow((flow) => flow.wait('nap', { sleep: 3_600_000 }).step('last', () => 'awake'))
  const { stores, runId, engine } = await crashIn(slept, 'x', () => true)
  t.teardown(() => engine.close())
  const { now } = Date
  t.intercept(Date, 'now', { value: () => now() + 3_600_000 })
  t.match((await goOn(slept, stores, runId)).result, { text: 'awake' }, 'it does not begin anew')
})
