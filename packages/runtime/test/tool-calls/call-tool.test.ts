import { setTimeout as wait } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { expose } from '@svc/registry'
import { defineTool, type AgentOptions, type Tool, type ToolContext } from '@svc/runtime'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

const input = Type.Object({})
const define = (execute: (args: object, context: ToolContext) => unknown, more: object = {}): Tool =>
  defineTool({ name: 'work', description: 'Works', input, execute, ...more })

/** Runs an agent whose model calls the tool once; returns what the reader and the model received. */
async function runWith(tools: Tool[], call: object = {}, options: Partial<AgentOptions> = {}) {
  const { agent, model } = makeAgent([{ toolCalls: [{ toolName: 'work', ...call }] }, 'Done.'], {
    tools,
    ...options
  })
  const { context, logged } = makeContext()
  const run = await collect(agent.stream('Go', context))
  const toModel = model.calls[1]?.prompt.at(-1)?.content[0] as { output?: unknown } | undefined
  return {
    ...run,
    logged,
    toModel: toModel?.output,
    errors: run.ofType('tool.error'),
    results: run.ofType('tool.result'),
    model
  }
}

t.test('the reader and the model receive the result', async (t) => {
  const text = await runWith([define(() => 'sunny')])
  t.match(text.results, [{ toolCallId: 'call-1', toolName: 'work', result: 'sunny', durationMs: Number }])
  t.strictSame(text.toModel, { type: 'text', value: 'sunny' })
  const data = await runWith([define(async () => ({ degrees: [20] }))])
  t.strictSame(data.toModel, { type: 'json', value: { degrees: [20] } })
  t.strictSame((await runWith([define(() => undefined)])).toModel, { type: 'json', value: null })
  t.match((await runWith([define(() => new Date(0))])).results, [{ result: '1970-01-01T00:00:00.000Z' }])
})

t.test('the arguments null are none, whoever calls', async (t) => {
  const bare = await runWith([define((args) => args)], { input: 'null' })
  t.match(bare.results, [{ result: {} }])
  t.match(bare.ofType('tool.call'), [{ args: {} }])
  const inner = defineTool({ name: 'inner', description: '', input, execute: (args) => args })
  const outer = define((_args, context) => context.callTool(inner, null))
  t.match((await runWith([outer])).results.at(-1), { toolName: 'work', result: {} })
})

t.test('the context of a tool', async (t) => {
  let seen: ToolContext | undefined
  const tool = define((_args, context) => void (seen = context))
  const { agent } = makeAgent([{ toolCalls: [{ toolName: 'work' }] }, 'Done.'], { tools: [tool] })
  const { context } = makeContext({ principal: { sub: 'ann', scopes: [] }, sessionId: 's1' })
  await agent.run('Go', context)
  t.match(seen, { principal: { sub: 'ann' }, sessionId: 's1', runId: context.runId, toolCallId: 'call-1' })
  t.equal(seen?.idempotencyKey, `${context.idempotencyKey}:call-1`)
  t.equal(seen?.context, context)
  t.equal(seen?.log, context.log)
  t.equal(seen?.signal.aborted, false)
})

t.test('a call that the model can correct', async (t) => {
  const strict = define(() => 1, { input: Type.Object({ city: Type.String() }) })
  const cases: [call: object, code: string, message: RegExp][] = [
    [{ toolName: 'rest' }, 'RUN_ERR_TOOL_UNKNOWN', /"rest"; known tools: work/],
    [{ args: { city: 5 } }, 'RUN_ERR_TOOL_BAD_ARGS', /city: must be string/],
    [{ args: 'Rome' }, 'RUN_ERR_TOOL_BAD_ARGS', /must be object/],
    [{ input: '{"city":' }, 'RUN_ERR_TOOL_BAD_ARGS', /not JSON/],
    [{ input: '' }, 'RUN_ERR_TOOL_BAD_ARGS', /city: is required/]
  ]
  for (const [call, code, message] of cases) {
    const { errors, toModel, text } = await runWith([strict], call)
    t.match(errors, [{ toolCallId: 'call-1', error: { code, message } }], code)
    t.strictSame(toModel, { type: 'error-text', value: errors[0]?.error.message })
    t.equal(text, 'Done.', 'the loop continues')
  }
  const { errors } = await runWith([], { toolName: 'rest' })
  t.match(errors, [{ error: { message: 'There is no tool "rest"; the agent has no tools' } }])
})

t.test('a run survives any behaviour of a tool', async (t) => {
  const cyclic: { self?: unknown } = {}
  cyclic.self = cyclic
  const bad = 'RUN_ERR_TOOL_BAD_OUTPUT'
  const failed = 'RUN_ERR_TOOL_FAILED'
  const cases: Record<string, [execute: () => unknown, code: string, message?: string | RegExp]> = {
    throws: [
      () => {
        throw new Error('no such city')
      },
      failed,
      'no such city'
    ],
    rejects: [() => Promise.reject(new Error('no such city')), failed, 'no such city'],
    'rejects with a text': [() => Promise.reject('away'), failed, 'away'],
    'rejects with nothing': [() => Promise.reject(undefined), failed, 'The tool failed'],
    'rejects with a proxy': [
      () =>
        Promise.reject(
          new Proxy(
            {},
            {
              get: () => {
                throw new Error('x')
              }
            }
          )
        ),
      failed,
      'The tool failed'
    ],
    'gives a hostile thenable': [
      () => new Proxy({}, { get: (_target, key) => JSON.parse(String(key)) as unknown }),
      failed,
      /JSON/
    ],
    'has a long message': [
      () => {
        throw new Error('x'.repeat(5_000))
      },
      failed,
      'x'.repeat(1_000)
    ],
    'gives a cycle': [() => cyclic, bad],
    'gives a BigInt': [() => 5n, bad],
    'gives a function': [() => () => 1, bad],
    'gives a Map': [() => new Map(), bad],
    'gives a toJSON that throws': [
      () => ({
        toJSON() {
          throw new Error('x')
        }
      }),
      bad
    ],
    'gives 50 MB': [() => 'x'.repeat(52_428_800), 'RUN_ERR_TOOL_OUTPUT_TOO_LARGE', /52428800 bytes/]
  }
  for (const [name, [execute, code, message]] of Object.entries(cases)) {
    const { errors, text, toModel } = await runWith([define(execute)])
    t.match(errors, [{ error: { code, ...(message && { message }) } }], name)
    t.equal(text, 'Done.', name)
    t.match(toModel, { type: 'error-text' }, name)
    t.notMatch(JSON.stringify(errors), 'call-tool.test', 'no stack')
  }
})

t.test('the error of a tool is logged', async (t) => {
  const err = new Error('no such city')
  const { logged } = await runWith([define(() => Promise.reject(err))])
  const details = { err: { stack: err.stack }, toolName: 'work', toolCallId: 'call-1' }
  t.match(logged, [{ level: 'warn', details }])
})

t.test('an exposed error keeps its code, and is logged unless it is a refusal', async (t) => {
  const fault = { code: 'ORDER_NOT_FOUND', message: 'There is no order 7' }
  for (const [statusCode, isLogged] of [
    [404, false],
    [502, true]
  ] as const) {
    const { errors, logged } = await runWith([define(() => Promise.reject(expose({ ...fault, statusCode })))])
    t.match(errors, [{ error: fault }])
    t.equal(
      logged.some(({ message }) => message === 'tool failed'),
      isLogged
    )
  }
  const forged = Object.assign(new Error('x'), { code: 'RUN_ERR_PROGRAM_FAILED' })
  const { errors, logged } = await runWith([define(() => Promise.reject(forged))])
  t.match(errors, [{ error: { code: 'RUN_ERR_TOOL_FAILED', message: 'x' } }])
  t.match(logged, [{ message: 'tool failed' }])
})

t.test('a tool that exceeds its time-out', async (t) => {
  let signal: AbortSignal | undefined
  const late = Promise.withResolvers<unknown>()
  const tool = define((_args, context) => ((signal = context.signal), late.promise), { timeout: 20 })
  const { errors, text } = await runWith([tool])
  t.match(errors, [{ error: { code: 'RUN_ERR_TOOL_TIMEOUT', message: /longer than 20 ms/ } }])
  t.equal(text, 'Done.')
  t.match(signal?.reason, { code: 'RUN_ERR_TOOL_TIMEOUT' })
  late.reject(new Error('no listener left'))
  await wait(1)
})

t.test('an abort ends a run whose tool ignores its signal', async (t) => {
  const begun = Promise.withResolvers<AbortSignal>()
  const tool = define((_args, context) => (begun.resolve(context.signal), new Promise(() => {})))
  const { agent } = makeAgent([{ toolCalls: [{ toolName: 'work' }, { toolName: 'work' }] }, 'Done.'], {
    tools: [tool]
  })
  const controller = new AbortController()
  const running = collect(agent.stream('Go', makeContext({ signal: controller.signal }).context))
  const signal = await begun.promise
  const reason = new Error('gone')
  controller.abort(reason)
  t.equal((await running).error, reason)
  t.equal(signal.reason, reason)
})

t.test('a reader that leaves aborts running tools', async (t) => {
  const signals: AbortSignal[] = []
  const tool = define((_args, { signal }) => (signals.push(signal) === 1 ? 'quick' : new Promise(() => {})))
  const { agent } = makeAgent({ toolCalls: [{ toolName: 'work' }, { toolName: 'work' }] }, { tools: [tool] })
  for await (const part of agent.stream('Go')) if (part.type === 'tool.result') break
  t.equal(signals[0]?.aborted, false)
  t.match(signals[1]?.reason, { code: 'RUN_ERR_CANCELED' })
})

t.test(
  'calls of one step run in parallel: results as they come, to the model in the order of the calls',
  async (t) => {
    const gates = new Map(['a', 'b', 'c'].map((name) => [name, Promise.withResolvers<string>()]))
    const tool = define(({ name }: { name?: string }) => gates.get(name!)?.promise, {
      input: Type.Object({ name: Type.String() })
    })
    const toolCalls = ['a', 'b', 'c'].map((name) => ({ toolName: 'work', toolCallId: name, args: { name } }))
    const { agent, model } = makeAgent([{ toolCalls }, 'Done.'], { tools: [tool] })
    const order: string[] = []
    const next: Record<string, string> = { b: 'c', c: 'a' }
    for await (const part of agent.stream('Go')) {
      if (part.type === 'step' && part.index === 0) gates.get('b')!.resolve('B')
      if (part.type !== 'tool.result') continue
      order.push(part.toolCallId)
      gates.get(next[part.toolCallId] ?? '')?.resolve(part.toolCallId)
    }
    t.strictSame(order, ['b', 'c', 'a'])
    t.match(model.calls[1]?.prompt.at(-1)?.content, [
      { toolCallId: 'a' },
      { toolCallId: 'b' },
      { toolCallId: 'c' }
    ])
  }
)

t.test('an invented tool name does not break the next prompt', async (t) => {
  const { model, ofType } = await runWith([define(() => 1)], { toolName: 'do it; now!' })
  t.equal(ofType('tool.call')[0]?.toolName, 'do it; now!')
  t.match(model.calls[1]?.prompt.slice(-2), [
    { content: [{ toolName: 'do_it__now_' }] },
    { content: [{ toolName: 'do_it__now_' }] }
  ])
})

t.test('a result that cannot be redacted ends the run, and is never emitted', async (t) => {
  const redact = () => {
    throw new Error('not today')
  }
  const { agent } = makeAgent([{ toolCalls: [{ toolName: 'work' }] }], { tools: [define(() => 'secret')] })
  const { error, types } = await collect(agent.stream('Go', makeContext({ redact }).context))
  t.equal(error?.message, 'not today')
  t.notOk(types.includes('tool.result'))
})
