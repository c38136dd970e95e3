import { Type } from '@sinclair/typebox'
import { createRunEngine, type Approvals, type ApprovalOutcome } from '@svc/registry'
import { defineTool, type AgentOptions, type ToolDefinition } from '@svc/runtime'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

const input = Type.Object({ amount: Type.Number() })
const pay = (approval?: ToolDefinition<typeof input>['approval']) =>
  defineTool({
    name: 'pay',
    description: 'Pays',
    input,
    execute: ({ amount }) => `paid ${amount}`,
    ...(approval !== undefined && { approval })
  })
const script = [{ toolCalls: [{ toolName: 'pay', args: { amount: 5 } }] }, 'Done.']

/** Runs an agent, and answers its approvals with a function. */
async function runWith(
  options: Partial<AgentOptions>,
  answer: (request: object) => ApprovalOutcome | Promise<ApprovalOutcome>
) {
  const requests: object[] = []
  const approvals: Approvals = {
    request: async (request) => {
      requests.push(request)
      return answer(request)
    }
  }
  const { context, logged } = makeContext()
  const asking = new Proxy(context, {
    get(target, key) {
      if (key === 'approvals') return approvals
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    }
  })
  const { agent, model } = makeAgent(script, options)
  const run = await collect(agent.stream('Go', asking))
  return {
    ...run,
    requests,
    logged,
    model,
    errors: run.ofType('tool.error'),
    results: run.ofType('tool.result')
  }
}
const yes = () => ({ approved: true })

// Only `false` means no.
const unsure = (): boolean => JSON.parse('null')

t.test('which calls wait for an approval', async (t) => {
  const cases: [Partial<AgentOptions>, boolean][] = [
    [{ tools: [pay()] }, false],
    [{ tools: [pay(true)] }, true],
    [{ tools: [pay(({ amount }) => amount > 4)] }, true],
    [{ tools: [pay(async ({ amount }) => amount > 5)] }, false],
    [{ tools: [pay()], approval: 'always' }, true],
    [{ tools: [pay(false)], approval: 'always' }, false],
    [{ tools: [pay(true)], approval: 'never' }, true],
    [
      {
        tools: [pay()],
        approval: ({ name }, args) => name === 'pay' && (args as { amount: number }).amount === 5
      },
      true
    ],
    [{ tools: [pay()], approval: async () => false }, false],
    [{ tools: [pay(unsure)] }, true]
  ]
  for (const [options, waits] of cases) {
    const { requests, results } = await runWith(options, yes)
    t.strictSame(requests, waits ? [{ toolCallId: 'call-1', toolName: 'pay', args: { amount: 5 } }] : [])
    t.match(results, [{ result: 'paid 5' }])
  }
})

t.test('denied, with and without a reason, or expired', async (t) => {
  const cases: [ApprovalOutcome, string][] = [
    [{ approved: false }, 'The call was denied'],
    [{ approved: false, reason: 'too much' }, 'The call was denied: too much'],
    [{ approved: false, expired: true, reason: 'x' }, 'The approval request expired']
  ]
  for (const [outcome, message] of cases) {
    const { errors, text, model } = await runWith({ tools: [pay(true)] }, () => outcome)
    t.match(errors, [{ error: { code: 'RUN_ERR_APPROVAL_DENIED', message } }])
    t.match(model.calls[1]?.prompt.at(-1)?.content, [{ output: { type: 'error-text', value: message } }])
    t.equal(text, 'Done.', 'the loop continues')
  }
})

t.test('edited arguments are checked again, and appear in the history', async (t) => {
  const edited = await runWith({ tools: [pay(true)] }, () => ({ approved: true, args: { amount: 3 } }))
  t.match(edited.results, [{ result: 'paid 3' }])
  t.match(edited.model.calls[1]?.prompt.at(-2)?.content, [{ type: 'tool-call', input: { amount: 3 } }])
  const bad = await runWith({ tools: [pay(true)] }, () => ({ approved: true, args: { amount: '3' } }))
  t.match(bad.errors, [{ error: { code: 'RUN_ERR_TOOL_BAD_ARGS', message: /amount: must be number/ } }])
})

t.test('bad arguments request no approval', async (t) => {
  const { agent } = makeAgent([{ toolCalls: [{ toolName: 'pay', args: {} }] }, 'Done.'], {
    tools: [pay(true)]
  })
  t.match((await collect(agent.stream('Go'))).ofType('tool.error'), [
    { error: { code: 'RUN_ERR_TOOL_BAD_ARGS' } }
  ])
})

const fails = () => Promise.reject(new Error('SECRET'))

t.test('a policy that throws denies the call', async (t) => {
  for (const options of [{ tools: [pay(fails)] }, { tools: [pay()], approval: fails }]) {
    const { errors, requests, logged } = await runWith(options, yes)
    t.match(errors, [{ error: { code: 'RUN_ERR_APPROVAL_DENIED' } }])
    t.notMatch(JSON.stringify(errors), 'SECRET')
    t.equal(requests.length, 0)
    t.match(logged, [{ level: 'error', details: { err: { stack: /SECRET/ } } }])
  }
})

t.test('outside an engine every request is denied', async (t) => {
  const { agent } = makeAgent(script, { tools: [pay(true)] })
  t.match((await collect(agent.stream('Go'))).ofType('tool.error'), [
    { error: { code: 'RUN_ERR_APPROVAL_DENIED' } }
  ])
})

t.test('in an engine, one call waits while others run', async (t) => {
  const look = defineTool({
    name: 'look',
    description: 'Looks',
    input: Type.Object({}),
    execute: () => 'seen'
  })
  const { agent, model } = makeAgent(
    [
      {
        toolCalls: [
          { toolName: 'pay', toolCallId: 'p', args: { amount: 5 } },
          { toolName: 'look', toolCallId: 'l' }
        ]
      },
      'Done.'
    ],
    { tools: [pay(true), look] }
  )
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const run = await engine.start(agent, 'Go')
  const types: string[] = []
  let approvalId: string | undefined
  for await (const part of run.parts()) {
    if (part.type !== 'text') types.push(part.type)
    if (part.type === 'tool.approval.request') ({ approvalId } = part)
    if (part.type !== 'tool.result' || part.toolName !== 'look') continue
    t.equal((await engine.get(run.runId))?.status, 'input-required')
    await engine.answer(approvalId!, { approved: true, args: { amount: 4 } })
  }
  t.strictSame(types.slice(5), [
    'tool.approval.request',
    'tool.result',
    'tool.approval.response',
    'tool.result',
    'step.start',
    'step',
    'finish'
  ])
  const result = await run.result()
  t.match(result.toolCalls, [{ toolName: 'pay', args: { amount: 4 }, result: 'paid 4' }, { result: 'seen' }])
  t.match(model.calls[1]?.prompt.at(-1)?.content, [{ toolCallId: 'p' }, { toolCallId: 'l' }])
})

t.test("the time-out is the tool's, else the agent's, else the engine's", async (t) => {
  const paying = (approvalTimeout?: number) =>
    defineTool({
      name: 'pay',
      description: 'Pays',
      input,
      execute: () => 'paid',
      approval: true,
      ...(approvalTimeout !== undefined && { approvalTimeout })
    })
  const cases: [Partial<AgentOptions>, number | undefined][] = [
    [{ tools: [paying()] }, undefined],
    [{ tools: [paying()], approvalTimeout: 1_000 }, 1_000],
    [{ tools: [paying(2_000)], approvalTimeout: 1_000 }, 2_000],
    [{ tools: [paying(2_000)] }, 2_000]
  ]
  for (const [options, timeout] of cases) {
    const { requests } = await runWith(options, yes)
    t.match(requests, [{ toolName: 'pay', timeout }])
  }
})

t.test('an expired approval denies the call, and the run continues', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const { agent } = makeAgent(script, { tools: [pay(true)], approvalTimeout: 30 })
  const asked = Date.now()
  const run = await engine.start(agent, 'Go')
  // The timer of an approval keeps no process alive.
  const keepAlive = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(keepAlive))
  for await (const part of run.parts())
    if (part.type === 'tool.approval.request') t.ok(Date.parse(part.expiresAt) - asked < 10_000)
  t.match(await run.result(), {
    text: 'Done.',
    toolCalls: [{ error: { code: 'RUN_ERR_APPROVAL_DENIED', message: /expired/ } }]
  })
})

t.test('a cancel ends the wait', async (t) => {
  const { agent } = makeAgent(script, { tools: [pay(true)] })
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const run = await engine.start(agent, 'Go')
  for await (const part of run.parts()) if (part.type === 'tool.approval.request') break
  t.equal(await run.cancel(), true)
  t.equal((await run.result()).finishReason, 'canceled')
})
