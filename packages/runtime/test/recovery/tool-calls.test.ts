import { setImmediate as turn } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { createRunEngine, type NumberedPart, type RunEngine, type ToolCall } from '@svc/registry'
import { Agent, defineTool, Team, type Tool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { createTestCluster, type TestNode } from '@svc/testing'
import t from 'tap'
import { survive, type Survived } from '../helpers/crashing.ts'

const Empty = Type.Object({})

/** An agent whose model calls its tools in one step, and answers then. */
function calling(...tools: Tool[]): Agent {
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool'
      ? 'done'
      : { toolCalls: tools.map(({ name }) => ({ toolName: name, toolCallId: `c-${name}` })) }
  )
  return new Agent({ name: 'agent', register: false, model, tools })
}

function pay(done: string[], options: { idempotent?: boolean; approval?: boolean } = {}): Tool {
  return defineTool({
    name: 'pay',
    description: 'Pays',
    input: Empty,
    ...options,
    execute(_, { idempotencyKey }) {
      done.push(idempotencyKey)
      return 'paid'
    }
  })
}

const callOf = ({ result }: Survived): ToolCall => result!.toolCalls[0]!
const typesOf = ({ parts }: Survived) => parts.map(({ type }) => type)

/** Approves what is asked for. */
const approve = (engine: RunEngine, part: NumberedPart) =>
  part.type === 'tool.approval.request' && engine.answer(part.approvalId, { approved: true }).catch(() => {})

/** Runs something with a crash at each write to its log. */
async function crashEverywhere(
  make: () => Agent | Team,
  check: (survived: Survived, lifetime: number) => void,
  options: Parameters<typeof survive>[2] = {}
) {
  const whole = await survive(make, [], options)
  check(whole, Infinity)
  for (let lifetime = 1; lifetime < whole.appends; lifetime++)
    check(await survive(make, [lifetime], options), lifetime)
}

t.test('a call in progress is repeated only if its tool is idempotent', async (t) => {
  for (const idempotent of [true, false]) {
    const done: string[] = []
    let interrupted = 0
    await crashEverywhere(
      () => calling(pay(done, { idempotent })),
      (survived, lifetime) => {
        t.equal(survived.status, 'completed', `after ${lifetime} appends`)
        const { result, error } = callOf(survived)
        if (error === undefined) t.equal(result, 'paid')
        else {
          t.match(error, { code: 'RUN_ERR_TOOL_INTERRUPTED', message: /may have happened/ })
          interrupted++
        }
        t.equal(new Set(done).size, done.length > 0 ? 1 : 0, 'one key for all attempts')
        done.splice(0)
      }
    )
    t.equal(interrupted > 0, !idempotent)
  }
})

t.test('a call that is not idempotent is executed at most once', async (t) => {
  for (const approval of [false, true]) {
    const done: string[] = []
    await crashEverywhere(
      () => calling(pay(done, { approval })),
      ({ status, result }, lifetime) => {
        t.equal(status, 'completed')
        t.ok(done.length <= 1, `executed ${done.length} times, after ${lifetime} appends`)
        if (result!.toolCalls[0]!.error === undefined) t.equal(done.length, 1)
        done.splice(0)
      },
      { onPart: approve }
    )
  }
})

t.test('a call that waits for its approval keeps waiting, and is executed once it is approved', async (t) => {
  const done: string[] = []
  let waited = 0
  await crashEverywhere(
    () => calling(pay(done, { approval: true })),
    ({ parts, result }) => {
      const requests = parts.filter(({ type }) => type === 'tool.approval.request')
      const responses = parts.filter(({ type }) => type === 'tool.approval.response')
      t.equal(requests.length, 1)
      t.equal(responses.length, 1)
      const restart = parts.find((part) => part.type === 'step.start' && part.attempt > 1)
      if (restart === undefined && result!.toolCalls[0]!.result === 'paid') waited++
    },
    { onPart: approve }
  )
  t.ok(waited > 2, `${waited}`)
})

t.test('a tool that asks gets its answer after a crash', async (t) => {
  const ask = defineTool({
    name: 'ask',
    description: 'Asks',
    input: Empty,
    async execute(_, call) {
      const { action, content } = await call.ask({ message: 'Which one?', schema: Type.String() })
      return `${action} ${String(content)}`
    }
  })
  let answered = 0
  await crashEverywhere(
    () => calling(ask),
    (survived, lifetime) => {
      t.equal(survived.status, 'completed', `after ${lifetime} appends`)
      const { result, error } = callOf(survived)
      if (error === undefined) {
        t.equal(result, 'accept this one')
        answered++
      } else t.match(error, { code: 'RUN_ERR_TOOL_INTERRUPTED' })
      t.ok(typesOf(survived).filter((type) => type === 'input.request').length <= 1)
    },
    {
      onPart: (engine, part) =>
        part.type === 'input.request' &&
        engine.answer(part.inputId, { action: 'accept', content: 'this one' }).catch(() => {})
    }
  )
  t.ok(answered > 0)
})

t.test('the calls that a call has made are not made again', async (t) => {
  const done: string[] = []
  const first = pay(done)
  const second = defineTool({
    name: 'second',
    description: 'Waits',
    input: Empty,
    approval: true,
    idempotent: true,
    execute: () => 2
  })
  const outer = defineTool({
    name: 'outer',
    description: 'Calls others',
    input: Empty,
    idempotent: true,
    execute: async (_, { callTool }) => [
      await callTool(first, {}).catch((err: Error & { code?: string }) => err.code),
      await callTool(second, {})
    ]
  })
  await crashEverywhere(
    () => calling(outer),
    (survived, lifetime) => {
      t.ok(done.length <= 1, `after ${lifetime} appends`)
      const { result } = callOf(survived)
      t.match(result, [
        done.length === 1 ? /^(paid|RUN_ERR_TOOL_INTERRUPTED)$/ : 'RUN_ERR_TOOL_INTERRUPTED',
        2
      ])
      const ids = survived.parts.flatMap((part) => (part.type === 'tool.call' ? part.toolCallId : []))
      t.equal(
        new Set(ids).size,
        ids.filter((id) => id !== 'c-outer').length + 1,
        'each call is in the log once'
      )
      done.splice(0)
    },
    { onPart: approve }
  )
})

t.test('a member that fails, and one that is no agent, are handled as in an unbroken run', async (t) => {
  const failing = new Agent({
    name: 'failing',
    register: false,
    retry: { attempts: 1 },
    model: scriptedModel({ rejects: new Error('broken') })
  })
  const plain = { kind: 'agent', name: 'plain', run: () => 'plain' } as const
  await crashEverywhere(
    () =>
      new Team({
        name: 'team',
        register: false,
        mode: 'parallel',
        members: [failing, plain],
        merge: (answers) => answers.map(({ text, error }) => error?.code ?? text).join(' ')
      }),
    (survived, lifetime) => {
      t.match(survived.result, { text: 'RUN_ERR_MODEL_FAILED plain' }, `after ${lifetime} appends`)
      t.ok(
        survived.parts.filter(({ type, source }) => type === 'error' && source?.[0] === 'failing').length ===
          1
      )
    }
  )
})

t.test('a node that loses a run while it reads what was recorded begins no call', async (t) => {
  const done: string[] = []
  const began = Promise.withResolvers<void>()
  const { join } = createTestCluster()
  const [first, second, third] = [join(), join(), join()]
  const agentOn = (node: string) => {
    const look = defineTool({
      name: 'look',
      description: 'Looks',
      input: Empty,
      idempotent: true,
      execute() {
        done.push(node)
        began.resolve()
        return node === 'first' ? new Promise(() => {}) : 'seen'
      }
    })
    return calling(look)
  }
  const serve = async (name: string, { stores }: TestNode, readStep = stores.runs.readStep) => {
    const engine = createRunEngine({
      stores: { ...stores, runs: { ...stores.runs, readStep } },
      drainTimeout: 0
    })
    t.teardown(() => engine.close())
    const agent = agentOn(name)
    await engine.resume(agent)
    await engine.recover()
    return { engine, agent }
  }
  const begun = await serve('first', first)
  const run = await begun.engine.start(begun.agent, 'x')
  run.result().catch(() => {})
  await began.promise

  const asked = Promise.withResolvers<void>()
  const reads = Promise.withResolvers<void>()
  await serve('second', second, async (runId, key) => {
    const found = await second.stores.runs.readStep(runId, key)
    if (!key.includes('#call')) return found
    asked.resolve()
    await reads.promise
    return found
  })
  first.loseContact()
  first.declareDead()
  await asked.promise
  second.loseContact()
  second.declareDead()
  const { engine } = await serve('third', third)
  for await (const { type } of engine.parts(run.runId)) if (type === 'finish') break
  reads.resolve()
  for (let count = 0; count < 50; count++) await turn()
  await second.regainContact()
  for (let count = 0; count < 50; count++) await turn()
  t.same(done, ['first', 'third'])
})
