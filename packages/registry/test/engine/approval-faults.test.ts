import { inspect } from 'node:util'
import {
  createInProcessStores,
  type ApprovalAnswer,
  type ApprovalOutcome,
  type RunContext
} from '@svc/registry'
import { toRunRecord } from '../../src/engine/run-record.ts'
import { codeOf, scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const request = { toolCallId: 'c', toolName: 'send', args: {} }
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Starts a run of a function of its context, and returns the outcome. */
async function start(engine: ReturnType<typeof buildEngine>, act: (context: RunContext) => Promise<unknown>) {
  const outcome = Promise.withResolvers<unknown>()
  const run = await engine.start(
    scriptedRunnable([(context) => act(context).then(outcome.resolve, outcome.reject)]),
    'x'
  )
  outcome.promise.catch(() => {})
  return { run, outcome: outcome.promise }
}

const pendingOf = async (engine: ReturnType<typeof buildEngine>, runId: string) =>
  toRunRecord((await engine.find(runId))!).pendingApprovals

t.test('a request that cannot be encoded is refused, and does not stay pending', async (t) => {
  const engine = buildEngine(t)
  const { run, outcome } = await start(engine, async ({ approvals }) => {
    await t.rejects(approvals.request({ ...request, args: 1n }), { code: 'RUN_ERR_BAD_PART' })
    return approvals.request(request)
  })
  await turn()
  const [approval] = await pendingOf(engine, run.runId)
  t.match(await engine.answer(approval!.approvalId, { approved: true }), { status: /working|completed/ })
  t.same(await outcome, { approved: true })
})

t.test('an answer that cannot be encoded is refused, and a later one accepted', async (t) => {
  const engine = buildEngine(t)
  const { run, outcome } = await start(engine, ({ approvals }) => approvals.request(request))
  await turn()
  const [approval] = await pendingOf(engine, run.runId)
  const answer = (args: unknown) =>
    engine.answer(approval!.approvalId, { approved: true, args } as ApprovalAnswer)
  for (const bad of [null, 'x', [], 0, false, 1n, { to: 1n }, new Date(), () => {}])
    t.equal(await codeOf(() => answer(bad)), 'RUN_ERR_BAD_INPUT', inspect(bad))
  const args = { to: 'ada' }
  await answer(args)
  args.to = 'eve'
  t.same(await outcome, { approved: true, args: { to: 'ada' } })
  t.match(await engine.get(run.runId), { inputs: [{ answer: { content: { to: 'ada' } } }] })
})

t.test('an answer without a boolean is refused: a string would count as an approval', async (t) => {
  const engine = buildEngine(t)
  const { run, outcome } = await start(engine, ({ approvals }) => approvals.request(request))
  await turn()
  const [approval] = await pendingOf(engine, run.runId)
  const answer = (given: unknown) => engine.answer(approval!.approvalId, given as ApprovalAnswer)
  const bad = [undefined, null, {}, { approved: 'false' }, { approved: 1 }, { approved: null }]
  for (const given of [...bad, { approved: true, reason: 5 }, { approved: true, reason: 'x'.repeat(5_000) }])
    t.equal(await codeOf(() => answer(given)), 'RUN_ERR_BAD_INPUT', inspect(given).slice(0, 60))
  t.match(await engine.get(run.runId), { inputs: [{ answer: null }] })
  await answer({ approved: false })
  t.same(await outcome, { approved: false })
})

t.test('an answer too large for the log fails the run instead of blocking it', async (t) => {
  const engine = buildEngine(t, { limits: { maxLogBytes: 2_000 } })
  const { run, outcome } = await start(engine, ({ approvals }) => approvals.request(request))
  await turn()
  const [approval] = await pendingOf(engine, run.runId)
  await engine.answer(approval!.approvalId, { approved: false, reason: 'x'.repeat(4_000) })
  await t.rejects(outcome, { code: 'RUN_ERR_LOG_LIMIT' })
  await t.rejects(run.result(), { code: 'RUN_ERR_LOG_LIMIT' })
  t.same(
    (await partsOf(run)).map(({ type }) => type),
    ['start', 'tool.approval.request', 'error']
  )
})

for (const timeout of [2 ** 31, 1e15, Infinity]) {
  t.test(`a timeout of ${timeout} ms does not overflow the timer`, async (t) => {
    const engine = buildEngine(t)
    const { run } = await start(engine, ({ approvals }) => approvals.request({ ...request, timeout }))
    await new Promise((resolve) => setTimeout(resolve, 20))
    t.match(await pendingOf(engine, run.runId), [{ toolName: 'send' }])
  })
}

t.test('a request after the end of the run is refused', async (t) => {
  const engine = buildEngine(t)
  const go = Promise.withResolvers<void>()
  const { run, outcome } = await start(engine, async ({ approvals }) => {
    await go.promise
    return approvals.request(request)
  })
  await run.cancel()
  go.resolve()
  await t.rejects(outcome, { code: 'RUN_ERR_CANCELED' })
})

/** Stores in memory with a slow log. */
function slowLog(ms: number) {
  const stores = createInProcessStores()
  let last: Promise<unknown> = Promise.resolve()
  const append: typeof stores.log.append = (...args) => {
    const written = last.then(async () => {
      await new Promise((resolve) => setTimeout(resolve, ms))
      return stores.log.append(...args)
    })
    last = written.catch(() => {})
    return written
  }
  return { ...stores, log: { ...stores.log, append } }
}

t.test('a request expires even if its timeout is shorter than a write', async (t) => {
  const engine = buildEngine(t, { stores: slowLog(15) })
  const { outcome } = await start(engine, ({ approvals }) => approvals.request({ ...request, timeout: 1 }))
  t.match(await outcome, { approved: false, expired: true } satisfies ApprovalOutcome)
})

t.test('the run is up to date for the client that answered', async (t) => {
  const engine = buildEngine(t, { stores: slowLog(2) })
  const { run } = await start(engine, async ({ approvals }) => {
    await approvals.request(request)
    await new Promise(() => {})
  })
  let approvalId = ''
  for await (const part of run.parts())
    if (part.type === 'tool.approval.request') {
      approvalId = part.approvalId
      break
    }
  t.match(await engine.answer(approvalId, { approved: true }), { status: 'working' })
})
