import { Type } from '@sinclair/typebox'
import { createRunEngine, type Run } from '@svc/registry'
import { codeTool, defineTool, quickJsSandbox } from '@svc/runtime'
import t from 'tap'
import { makeAgent } from '../helpers/make-agent.ts'

const sandbox = quickJsSandbox({ bubblewrap: 'off' })
const engine = createRunEngine()
t.after(async () => {
  await engine.close()
  await sandbox.close()
})

const payments: number[] = []
const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: Type.Object({ amount: Type.Number() }),
  approval: true,
  execute: ({ amount }) => (payments.push(amount), amount)
})
const fail = defineTool({
  name: 'fail',
  description: 'Fails',
  input: Type.Object({}),
  execute: () => Promise.reject(new Error('no'))
})

/** Starts a run whose model writes the program. */
function start(code: string, more: object = {}) {
  payments.length = 0
  const compute = codeTool({ name: 'compute', tools: [pay, fail], sandbox, ...more })
  const { agent } = makeAgent([{ toolCalls: [{ toolName: 'compute', args: { code } }] }, 'Done.'], {
    tools: [compute]
  })
  return engine.start(agent, 'Go')
}

/** Yields the id of each requested approval. */
async function* asked(run: Run) {
  for await (const part of run.parts()) if (part.type === 'tool.approval.request') yield part
}

t.test('each call of a program waits for its own approval', async (t) => {
  const run = await start(
    'const paid = await tools.pay({ amount: 1 }); return [paid, await tools.pay({ amount: 2 }).catch((e) => e.code)]'
  )
  const answers = [
    { approved: true, args: { amount: 3 } },
    { approved: false, reason: 'too much' }
  ]
  const calls: object[] = []
  for await (const { approvalId, toolCallId, toolName, args } of asked(run)) {
    t.equal((await engine.get(run.runId))?.status, 'input-required')
    calls.push({ toolCallId, toolName, args })
    await engine.answer(approvalId, answers.shift()!)
  }
  t.strictSame(calls, [
    { toolCallId: 'call-1.1', toolName: 'pay', args: { amount: 1 } },
    { toolCallId: 'call-1.2', toolName: 'pay', args: { amount: 2 } }
  ])
  t.match((await run.result()).toolCalls[0], { result: { result: [3, 'RUN_ERR_APPROVAL_DENIED'] } })
  t.strictSame(payments, [3])
})

t.test('edited arguments of a call are checked', async (t) => {
  const run = await start('return tools.pay({ amount: 1 }).catch((e) => e.code)')
  for await (const { approvalId } of asked(run))
    await engine.answer(approvalId, { approved: true, args: { amount: 'all' } })
  t.match((await run.result()).toolCalls[0], { result: { result: 'RUN_ERR_TOOL_BAD_ARGS' } })
  t.strictSame(payments, [])
})

t.test('parallel calls can be answered in any order', async (t) => {
  const run = await start('return Promise.all([1, 2, 3].map((amount) => tools.pay({ amount })))')
  const waiting: string[] = []
  for await (const { approvalId } of asked(run)) {
    waiting.unshift(approvalId)
    if (waiting.length === 3) for (const id of waiting) await engine.answer(id, { approved: true })
  }
  t.match((await run.result()).toolCalls[0], { result: { result: [1, 2, 3] } })
  t.strictSame(payments, [3, 2, 1])
})

t.test('when a program ends, its pending approvals need no answer', async (t) => {
  const programs: [name: string, code: string, more: object][] = [
    ['fails', 'await Promise.all([tools.pay({ amount: 1 }), tools.fail({})])', {}],
    ['takes too long', 'await tools.pay({ amount: 1 })', { timeout: 1_500 }]
  ]
  for (const [name, code, more] of programs) {
    const run = await start(code, more)
    let approvalId = ''
    for await (const part of asked(run)) ({ approvalId } = part)
    const { finishReason, toolCalls } = await run.result()
    t.equal(finishReason, 'stop', name)
    t.match(
      toolCalls.find(({ toolName }) => toolName === 'pay'),
      { error: { code: 'RUN_ERR_TOOL_FAILED' } },
      'the end of the call is emitted'
    )
    await t.rejects(engine.answer(approvalId, { approved: true }), { code: 'RUN_ERR_INPUT_EXPIRED' })
    t.strictSame(payments, [])
    t.equal((await engine.get(run.runId))?.status, 'completed')
  }
})

t.test('a cancel ends a program that waits for an approval, and frees its child', async (t) => {
  const run = await start('await tools.pay({ amount: 1 })')
  for await (const part of asked(run)) if (part.toolName === 'pay') await run.cancel()
  t.equal((await run.result()).finishReason, 'canceled')
  t.strictSame(payments, [])
  t.match(await sandbox.run({ code: 'return 1', tools: {} }), { result: 1 })
})
