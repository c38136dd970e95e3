import { setImmediate } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { createRunEngine, expose } from '@svc/registry'
import { defineTool, type AgentOptions, type Tool, type ToolContext } from '@svc/runtime'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

const input = Type.Object({})
const define = (execute: (context: ToolContext) => unknown, more: object = {}): Tool =>
  defineTool({
    name: 'work',
    description: 'Works',
    input,
    execute: (_, context) => execute(context),
    ...more
  })
const SCRIPT = [{ toolCalls: [{ toolName: 'work' }] }, 'Done.']

async function runWith(tool: Tool, options: Partial<AgentOptions> = {}) {
  const { agent } = makeAgent(SCRIPT, { tools: [tool], ...options })
  const { context, logged } = makeContext()
  return { context, logged, ...(await collect(agent.stream('Go', context))) }
}

t.test('a tool sees whose call it serves, and the prompt that led to it', async (t) => {
  let seen: ToolContext | undefined
  await runWith(
    define((context) => void (seen = context)),
    { instructions: 'SECRET' }
  )
  t.strictSame(seen?.runnable, { kind: 'agent', name: 'tester' })
  t.equal(seen?.stepNumber, 0)
  t.strictSame(seen?.messages, [{ role: 'user', content: [{ type: 'text', text: 'Go' }] }])
})

t.test('parts and files of a tool come before its result', async (t) => {
  const { types, ofType, context } = await runWith(
    define(async ({ emit, keepFile }) => {
      emit({ type: 'data', name: 'rows', value: [1] })
      const { fileId } = await keepFile({
        mimeType: 'text/csv',
        data: Buffer.from('a,b'),
        purpose: 'download'
      })
      return { fileId }
    })
  )
  t.strictSame(types.slice(2, 6), ['step', 'data', 'file', 'tool.result'])
  const [file] = ofType('file')
  t.match(file, { mimeType: 'text/csv', size: 3, purpose: 'download', toolCallId: 'call-1' })
  t.ok(await context.stores.files?.get(context.runId, file!.fileId!))
})

t.test('onEnd is called once, before the run ends', async (t) => {
  const order: string[] = []
  const { agent } = makeAgent(SCRIPT, {
    tools: [
      define(({ onEnd }) => {
        onEnd(() => void order.push('unsubscribed'))()
        onEnd(async (error) => {
          await setImmediate()
          order.push(`ended ${String(error)}`)
        })
      })
    ]
  })
  for await (const { type } of agent.stream('Go', makeContext().context)) order.push(type)
  t.strictSame(order.slice(-2), ['ended undefined', 'finish'])
  t.equal(order.filter((each) => each.startsWith('ended')).length, 1)
})

t.test('onEnd gets the error of a run that fails, and its own errors are only logged', async (t) => {
  const errors: unknown[] = []
  const tool = define(({ onEnd }) => {
    onEnd((error) => void errors.push(error))
    onEnd(() => Promise.reject(new Error('listener')))
  })
  const { agent } = makeAgent([{ toolCalls: [{ toolName: 'work' }] }, { rejects: new Error('model') }], {
    tools: [tool],
    retry: { attempts: 1 }
  })
  const { context, logged } = makeContext()
  const { error } = await collect(agent.stream('Go', context))
  t.strictSame(errors, [error])
  t.match(logged.at(-1), { level: 'error', message: 'a listener of the end of a run failed' })
})

t.test('onEnd is called at once when the run is canceled, or its reader leaves', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const ended = Promise.withResolvers<unknown>()
  const called = Promise.withResolvers<void>()
  const hangs = define(({ onEnd }) => {
    onEnd(ended.resolve)
    called.resolve()
    return new Promise(() => {})
  })
  const run = await engine.start(makeAgent(SCRIPT, { tools: [hangs] }).agent, 'Go')
  run.result().catch(() => {})
  await called.promise
  await run.cancel()
  t.match(await ended.promise, { code: 'RUN_ERR_CANCELED' })

  const left = Promise.withResolvers<unknown>()
  const { agent } = makeAgent(SCRIPT, { tools: [define(({ onEnd }) => void onEnd(left.resolve))] })
  for await (const { type } of agent.stream('Go')) if (type === 'tool.result') break
  t.match(await left.promise, { code: 'RUN_ERR_CANCELED' })
})

t.test('a tool ends its run with an error', async (t) => {
  const failure = expose({ code: 'APP_ERR_GONE', message: 'gone' })
  const { error, types } = await runWith(define(({ failRun }) => failRun(failure)))
  t.equal(error, failure)
  t.notOk(types.includes('tool.error'))
})

t.test('a tool ends its run after the step', async (t) => {
  const { ofType } = await runWith(
    define(({ stopRun }) => {
      stopRun('max-steps')
      return 'enough'
    })
  )
  t.match(ofType('tool.result'), [{ result: 'enough' }])
  t.match(ofType('finish'), [{ finishReason: 'max-steps' }])
})

t.test('prepareStep may wait for the end of the run too', async (t) => {
  const ended: unknown[] = []
  await runWith(
    define(() => 1),
    {
      prepareStep: ({ onEnd, stepNumber }) =>
        void (stepNumber === 0 && onEnd((error) => void ended.push(error)))
    }
  )
  t.strictSame(ended, [undefined])
})

t.test('a policy explains a request to its approver, who may edit the arguments', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const given: unknown[] = []
  const tool = defineTool({
    name: 'work',
    description: 'Works',
    input: Type.Object({ to: Type.String() }, { additionalProperties: false }),
    execute: (args) => void given.push(args)
  })
  const script = [{ toolCalls: [{ toolName: 'work', args: { to: 'ann' } }] }, 'Done.']
  for (const edit of [
    undefined,
    { to: 'bob' },
    { to: 'bob', about: 'Pays ann' },
    { to: 'ann', about: 'Pays ann' }
  ]) {
    const { agent } = makeAgent(script, { tools: [tool], approval: () => ({ about: 'Pays ann' }) })
    const run = await engine.start(agent, 'Go')
    for await (const part of run.parts()) {
      if (part.type !== 'tool.approval.request') continue
      t.strictSame(part.args, { to: 'ann', about: 'Pays ann' })
      await engine.answer(part.approvalId, { approved: true, ...(edit && { args: edit }) })
    }
  }
  t.strictSame(given, [{ to: 'ann' }, { to: 'bob' }, { to: 'bob' }, { to: 'ann' }])
})
