import type { ApprovalOutcome, RunContext } from '@svc/registry'
import { toRunRecord } from '../../src/engine/run-record.ts'
import { codeOf, scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const request = { toolCallId: 'c', toolName: 'send', args: { to: 'ada' } }

/** A run that requests one approval, and the answer it received. */
function asking(
  ask: (context: RunContext) => Promise<ApprovalOutcome> = ({ approvals }) => approvals.request(request)
) {
  const outcome = Promise.withResolvers<ApprovalOutcome>()
  const runnable = scriptedRunnable([
    async (context) => {
      const answered = ask(context)
      answered.then(outcome.resolve, outcome.reject)
      await answered
    },
    { type: 'text', text: 'on it goes' }
  ])
  return { runnable, outcome: outcome.promise }
}

async function approvalIdOf(run: { parts(): AsyncIterable<object> }): Promise<string> {
  for await (const part of run.parts()) if ('approvalId' in part) return String(part.approvalId)
  throw new Error('no approval')
}

t.test('a run waits for its approval and continues', async (t) => {
  const engine = buildEngine(t)
  const { runnable, outcome } = asking()
  const run = await engine.start(runnable, 'x')
  const approvalId = await approvalIdOf(run)
  const waiting = (await engine.find(run.runId))!
  t.match(toRunRecord(waiting), {
    status: 'input-required',
    pendingApprovals: [{ approvalId, toolName: 'send', args: { to: 'ada' } }]
  })
  t.match(await engine.findInput(approvalId), {
    run: { runId: run.runId },
    input: { inputId: approvalId, kind: 'approval' }
  })
  t.match(await engine.answer(approvalId, { approved: true, args: { to: 'bob' } }), { status: 'working' })
  t.same(await outcome, { approved: true, args: { to: 'bob' } })
  await run.result()
  const parts = await partsOf(run)
  t.same(
    parts.map(({ type }) => type),
    ['start', 'tool.approval.request', 'tool.approval.response', 'text', 'finish']
  )
  t.match(parts[1], { approvalId, expiresAt: /Z$/, args: { to: 'ada' } })
  t.match(parts[2], { approvalId, toolCallId: 'c', approved: true, args: { to: 'bob' } })
  t.same(toRunRecord((await engine.find(run.runId))!).pendingApprovals, [])
})

t.test('an approval is answered once', async (t) => {
  const engine = buildEngine(t)
  const { runnable, outcome } = asking()
  const run = await engine.start(runnable, 'x')
  const approvalId = await approvalIdOf(run)
  const codes = await Promise.all([
    codeOf(() => engine.answer(approvalId, { approved: false, reason: 'no' })),
    codeOf(() => engine.answer(approvalId, { approved: true }))
  ])
  t.same(codes, ['none', 'RUN_ERR_INPUT_ANSWERED'])
  t.same(await outcome, { approved: false, reason: 'no' })
  await run.result()
  t.equal(await codeOf(() => engine.answer(approvalId, { approved: true })), 'RUN_ERR_INPUT_ANSWERED')
  for (const id of ['', 'x', `${run.runId}.9`, 'nobody.1'])
    t.equal(await codeOf(() => engine.answer(id, { approved: true })), 'RUN_ERR_INPUT_NOT_FOUND', id)
})

t.test('an approval expires', async (t) => {
  const engine = buildEngine(t)
  const { runnable, outcome } = asking(({ approvals }) => approvals.request({ ...request, timeout: 20 }))
  const run = await engine.start(runnable, 'x')
  const keepAlive = setInterval(() => {}, 1_000)
  t.match(await outcome, { approved: false, expired: true })
  clearInterval(keepAlive)
  t.match(await run.result(), { text: 'on it goes' })
})

t.test('several approvals can be pending, with the source of each member', async (t) => {
  const engine = buildEngine(t)
  const { runnable, outcome } = asking(async (context) => {
    const both = [
      context.approvals.request(request),
      context.child('m').approvals.request({ ...request, toolCallId: 'd' })
    ]
    const [first, second] = await Promise.all(both)
    return { approved: first!.approved && second!.approved }
  })
  const run = await engine.start(runnable, 'x')
  await approvalIdOf(run)
  await new Promise((resolve) => setImmediate(resolve))
  const { pendingApprovals } = toRunRecord((await engine.find(run.runId))!)
  t.match(pendingApprovals, [{ toolCallId: 'c' }, { toolCallId: 'd', source: ['m'] }])
  t.match(await engine.answer(pendingApprovals[0]!.approvalId, { approved: true }), {
    status: 'input-required'
  })
  t.match(await engine.answer(pendingApprovals[1]!.approvalId, { approved: true }), { status: 'working' })
  t.same(await outcome, { approved: true })
})

t.test('approvals end with their run', async (t) => {
  const engine = buildEngine(t)
  const { runnable, outcome } = asking()
  const run = await engine.start(runnable, 'x')
  const approvalId = await approvalIdOf(run)
  await run.cancel()
  t.match(await outcome.catch((err: unknown) => err), { code: 'RUN_ERR_CANCELED' })
  t.equal(await codeOf(() => engine.answer(approvalId, { approved: true })), 'RUN_ERR_INPUT_ANSWERED')
  t.same(toRunRecord((await engine.find(run.runId))!).pendingApprovals, [])
})
