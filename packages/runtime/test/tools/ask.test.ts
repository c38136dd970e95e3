import { Type } from '@sinclair/typebox'
import { createRunEngine, type Answer, type Run, type RunEngine } from '@svc/registry'
import { defineTool, type ToolContext } from '@svc/runtime'
import t from 'tap'
import { RunGuard } from '../../src/guards/guard.ts'
import { makeAgent, makeContext } from '../helpers/make-agent.ts'

function asking(ask: (context: ToolContext) => unknown, timeout = 60_000) {
  const tool = defineTool({
    name: 'order',
    description: 'Orders something',
    input: Type.Object({}),
    timeout,
    execute: (_args, context) => ask(context)
  })
  return makeAgent([{ toolCalls: [{ toolName: 'order', toolCallId: 'c', args: {} }] }, 'Done.'], {
    tools: [tool]
  }).agent
}

function build(t: { teardown(end: () => unknown): unknown }): RunEngine {
  const engine = createRunEngine({ drainTimeout: 0 })
  t.teardown(() => engine.close())
  return engine
}

async function requestOf(run: Run) {
  for await (const part of run.parts()) if (part.type === 'input.request') return part
  throw new Error('it does not ask')
}

t.test('a tool asks the caller of the run, and continues with the answer', async (t) => {
  const engine = build(t)
  const schema = Type.Object({ size: Type.Integer() })
  const agent = asking(async ({ ask }) => {
    const { action, content } = await ask({ message: 'Which size?', schema })
    return [action, content?.size]
  })
  const run = await engine.start(agent, 'Go')
  const { inputId, ...request } = await requestOf(run)
  t.match(request, { kind: 'question', message: 'Which size?', toolCallId: 'c' })
  await engine.answer(inputId, { action: 'accept', content: { size: 3 } })
  t.match((await run.result()).toolCalls, [{ toolName: 'order', result: ['accept', 3] }])
})

t.test('a tool calls a tool of the client', async (t) => {
  const engine = build(t)
  const run = await engine.start(
    asking(({ callClient }) => callClient({ toolName: 'locate', args: { near: 'x' } })),
    'Go'
  )
  const { inputId, ...request } = await requestOf(run)
  t.match(request, { kind: 'tool', toolCallId: 'c', toolName: 'locate', args: { near: 'x' } })
  await engine.answer(inputId, { action: 'accept', content: 'here' })
  t.match((await run.result()).toolCalls, [{ result: { action: 'accept', content: 'here' } }])
})

t.test('the time of the tool does not count while it waits, and counts again afterwards', async (t) => {
  const engine = build(t)
  const later = Promise.withResolvers<void>()
  const agent = asking(async ({ ask }) => {
    await ask({ message: '?' })
    later.resolve()
    await new Promise(() => {})
  }, 30)
  const run = await engine.start(agent, 'Go')
  const { inputId } = await requestOf(run)
  // Twice the time-out of the tool.
  await new Promise((resolve) => setTimeout(resolve, 60))
  t.match(await engine.find(run.runId), { status: 'input-required' })
  await engine.answer(inputId, { action: 'decline' })
  await later.promise
  t.match((await run.result()).toolCalls, [{ error: { code: 'RUN_ERR_TOOL_TIMEOUT' } }])
})

t.test('a question ends with the call that asked it', async (t) => {
  const engine = build(t)
  let asked: Promise<Answer> | undefined
  const run = await engine.start(
    asking(({ ask }) => {
      asked = ask({ message: '?' })
      return 'not awaited'
    }),
    'Go'
  )
  t.match((await run.result()).toolCalls, [{ result: 'not awaited' }])
  t.match(await asked, { action: 'cancel' })
})

t.test('the time of a run does not count while it waits', async (t) => {
  const begun = performance.now()
  const looks = Promise.withResolvers<void>()
  let count = 0
  const wait: { ms?: number } = {}
  const guard = new RunGuard(
    {
      runId: 'r',
      log: makeContext().context.log,
      onAbort: () => () => {},
      get waitedMs() {
        if (++count === 4) looks.resolve()
        return wait.ms ?? performance.now() - begun
      }
    },
    { firstToken: 60_000, betweenTokens: 60_000, run: 10 }
  )
  t.teardown(() => guard.close())
  await looks.promise
  t.equal(guard.signal.aborted, false)
  wait.ms = performance.now() - begun
  const reason = await new Promise((resolve) => guard.onEnd(resolve))
  t.match(reason, { code: 'RUN_ERR_TIMEOUT' })
})
