import { setTimeout as wait } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { createRunEngine, type RunEngine } from '@svc/registry'
import { defineTool } from '@svc/runtime'
import t from 'tap'
import { makeAgent } from '../helpers/make-agent.ts'

const payments: number[] = []
const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: Type.Object({ amount: Type.Number() }),
  approval: true,
  execute: ({ amount }) => {
    payments.push(amount)
    return `paid ${amount}`
  }
})
const call = (amount: number) => ({ toolCalls: [{ toolName: 'pay', args: { amount } }] })
const script = [call(5), 'Done.']

async function untilAsked(engine: RunEngine, runId: string) {
  for (;;) {
    const [pending] = (await engine.get(runId))?.inputs.filter(({ answer }) => answer === null) ?? []
    if (pending !== undefined) return pending
    await wait(1)
  }
}

t.test('1,000 races between two answers: exactly one wins', async (t) => {
  const engine = createRunEngine({ limits: { maxRuns: 2_000, maxRunsPerOwner: 2_000 } })
  t.teardown(() => engine.close())
  payments.length = 0
  const outcomes = await Promise.all(
    Array.from({ length: 1_000 }, async (_, n) => {
      const run = await engine.start(makeAgent(script, { tools: [pay] }).agent, 'Go')
      const { inputId: approvalId } = await untilAsked(engine, run.runId)
      const answers = [
        { approved: true, args: { amount: n } },
        { approved: false, reason: 'no' }
      ]
      const [first, second] = n % 2 === 0 ? answers : answers.toReversed()
      const settled = await Promise.allSettled([
        engine.answer(approvalId, first!),
        engine.answer(approvalId, second!)
      ])
      const parts = await Array.fromAsync(run.parts())
      const responses = parts.filter((part) => part.type === 'tool.approval.response')
      const results = parts.filter((part) => part.type === 'tool.result')
      const denials = parts.filter((part) => part.type === 'tool.error')
      const won = settled.findIndex(({ status }) => status === 'fulfilled')
      const lost = settled.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
      const counted = [first, second][won]!.approved
      return (
        lost.length === 1 &&
        (lost[0]!.reason as { code?: string }).code === 'RUN_ERR_INPUT_ANSWERED' &&
        responses.length === 1 &&
        responses[0]!.approved === counted &&
        results.length === (counted ? 1 : 0) &&
        denials.length === (counted ? 0 : 1)
      )
    })
  )
  t.equal(outcomes.filter(Boolean).length, 1_000)
  t.equal(new Set(payments).size, payments.length, 'no call was made twice')
})

t.test('a call runs with the approved arguments, even if they were mutated meanwhile', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  payments.length = 0
  const tamper = ({ args }: { args?: unknown }) => void ((args as { amount: number }).amount = 1_000_000)
  for (const name of ['tool.call', 'tool.approval.request'] as const) engine.events.on(name, tamper as never)
  const { agent } = makeAgent(script, { tools: [pay] })
  const run = await engine.start(agent, 'Go')
  const pending = await untilAsked(engine, run.runId)
  const shown = (pending.args as { amount: number }).amount
  tamper(pending)
  await engine.answer(pending.inputId, { approved: true })
  await run.result()
  t.strictSame(payments, [shown])
})

t.test('an answer applies to its own call, not to the next one of the same tool', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  payments.length = 0
  const { agent } = makeAgent(
    [call(5), { toolCalls: [{ toolName: 'pay', toolCallId: 'b', args: { amount: 6 } }] }, 'Done.'],
    { tools: [pay] }
  )
  const run = await engine.start(agent, 'Go')
  const first = await untilAsked(engine, run.runId)
  await engine.answer(first.inputId, { approved: true })
  const second = await untilAsked(engine, run.runId)
  t.not(second.inputId, first.inputId)
  await t.rejects(engine.answer(first.inputId, { approved: true }), { code: 'RUN_ERR_INPUT_ANSWERED' })
  t.strictSame(payments, [5], 'the second call still waits')
  await engine.answer(second.inputId, { approved: false })
  await run.result()
  t.strictSame(payments, [5])
})

t.test('edited arguments that do not match the schema fail the call', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  payments.length = 0
  for (const args of [{ amount: '6' }, {}]) {
    const { agent } = makeAgent(script, { tools: [pay] })
    const run = await engine.start(agent, 'Go')
    const { inputId: approvalId } = await untilAsked(engine, run.runId)
    await engine.answer(approvalId, { approved: true, args })
    t.match(
      (await run.result()).toolCalls,
      [{ error: { code: 'RUN_ERR_TOOL_BAD_ARGS' } }],
      JSON.stringify(args)
    )
  }
  t.strictSame(payments, [])
})
