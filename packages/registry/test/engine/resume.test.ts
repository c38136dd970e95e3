import { Type } from '@sinclair/typebox'
import {
  createInProcessStores,
  createRegistry,
  createRunEngine,
  defineRunnable,
  type Registry,
  type RunContext,
  type RunEngine,
  type Runnable,
  type StartOptions
} from '@svc/registry'
import type { SurfacePolicy } from '../../src/access/policy.ts'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A resumable runnable: a step, then the given function. */
function resumable(act: (context: RunContext, input: unknown) => unknown): {
  runnable: Runnable
  done: string[]
} {
  const done: string[] = []
  const runnable = defineRunnable({
    kind: 'workflow',
    name: 'flow',
    resumable: true,
    async *stream(input, context) {
      yield { type: 'step', index: 0, usage: await context.step('usage', () => record(done)) }
      await act(context, input)
      yield { type: 'text', text: 'done' }
    }
  })
  return { runnable, done }
}

function record(done: string[]) {
  done.push('first')
  return { promptTokens: 1, completionTokens: 2, totalTokens: 3 }
}

/** A run of a dead process, and its stores. */
async function crash(
  runnable: Runnable,
  input: unknown = { topic: 'x' },
  options: StartOptions = {},
  prepare: (engine: RunEngine) => void = () => {}
) {
  const stores = createInProcessStores()
  // A dead process does not report failed writes.
  const own = { ...stores, log: { ...stores.log, abandon: () => {} } }
  const engine = createRunEngine({ stores: own, drainTimeout: 2_000 })
  prepare(engine)
  const run = await engine.start(runnable, input, options)
  run.result().catch(() => {})
  await turn()
  await turn()
  return { stores, run, engine }
}

t.test('a run resumes where it stopped, once its runnable is registered', async (t) => {
  const envelope = { extensions: ['urn:x'], metadata: { a: [1] } }
  const inputs: unknown[] = []
  let hold = true
  const { runnable, done } = resumable(async (context, input) => {
    const { principal, userId, newSession } = context
    inputs.push([input, principal.sub, userId, context.envelope, newSession, context.apiKey()?.reveal()])
    if (hold) await new Promise(() => {})
  })
  const flow = wide(runnable)
  const { stores, run } = await crash(
    flow,
    { topic: 'x' },
    {
      principal: { sub: 'ada', scopes: ['a'] },
      userId: 'u',
      envelope,
      apiKey: () => 'sk-secret'
    }
  )
  t.notMatch(JSON.stringify(await stores.checkpoints.load(run.runId)), /secret/)
  hold = false
  const engine = buildEngine(t, { stores })
  t.equal(await engine.recover(), 0)
  t.match(await engine.get(run.runId), { status: 'working', epoch: 1 })
  t.equal(await engine.resume(defineRunnable({ ...named(flow), name: 'other' })), 0)
  t.equal(await engine.resume(flow), 1)
  t.equal(await engine.resume(flow), 0)
  const parts = await partsOf({ parts: (after?: number) => engine.parts(run.runId, after) })
  t.same(
    parts.map(({ seq, type }) => [seq, type]),
    [
      [1, 'start'],
      [2, 'step'],
      [3, 'step'],
      [4, 'text'],
      [5, 'finish']
    ]
  )
  t.match(await engine.get(run.runId), { status: 'completed', epoch: 2, result: { text: 'done' } })
  t.same(inputs, [
    [{ topic: 'x' }, 'ada', 'u', envelope, true, 'sk-secret'],
    [{ topic: 'x' }, 'ada', 'u', envelope, false, undefined]
  ])
  t.same(done, ['first'])
  t.equal(await stores.checkpoints.load(run.runId), undefined)
})

t.test('it fails if its runnable is not registered in time', async (t) => {
  const { runnable } = resumable(() => new Promise(() => {}))
  const { stores, run } = await crash(wide(runnable))
  const engine = buildEngine(t, { stores, resumeTimeout: 10 })
  await engine.recover()
  const keepAlive = setInterval(() => {}, 1_000)
  const parts = await partsOf({ parts: (after?: number) => engine.parts(run.runId, after) })
  clearInterval(keepAlive)
  t.match(parts.at(-1), { type: 'error', error: { code: 'RUN_ERR_INTERRUPTED' } })
  t.equal(await engine.resume(wide(runnable)), 0)
  t.equal(await stores.checkpoints.load(run.runId), undefined)
})

t.test('a run that waits for its runnable can be canceled', async (t) => {
  const { runnable } = resumable(() => new Promise(() => {}))
  const { stores, run } = await crash(wide(runnable))
  const engine = buildEngine(t, { stores })
  await engine.recover()
  t.match(await engine.cancel(run.runId), { status: 'canceled' })
  t.match(await engine.get(run.runId), { result: { finishReason: 'canceled' } })
  t.equal(await engine.resume(wide(runnable)), 0)
})

t.test('an approval survives a restart, whenever it is answered', async (t) => {
  const request = { toolCallId: 'c', toolName: 'send', args: { to: 'ada' } }
  for (const when of ['before the restart is noticed', 'while it waits', 'after it goes on', 'never']) {
    let hold = true
    const outcomes: unknown[] = []
    const { runnable } = resumable(async (context) => {
      const asked = context.approvals.request({ ...request, ...(when === 'never' && { timeout: 30 }) })
      if (hold) await new Promise(() => {})
      outcomes.push(await asked)
    })
    const { stores, run } = await crash(wide(runnable))
    hold = false
    const engine = buildEngine(t, { stores })
    const answer = () => engine.answer(`${run.runId}.1`, { approved: true, args: { to: 'bob' } })
    if (when.startsWith('before'))
      await stores.runs.answerInput(run.runId, `${run.runId}.1`, {
        action: 'accept',
        content: { to: 'bob' }
      })
    await engine.recover()
    t.match(await engine.get(run.runId), { status: 'input-required' })
    if (when.startsWith('while')) await answer()
    await engine.resume(wide(runnable))
    await turn()
    if (when.startsWith('after')) await answer()
    const keepAlive = setInterval(() => {}, 1_000)
    const parts = await partsOf({ parts: (after?: number) => engine.parts(run.runId, after) })
    clearInterval(keepAlive)
    t.match(
      outcomes,
      [when === 'never' ? { approved: false, expired: true } : { approved: true, args: { to: 'bob' } }],
      when
    )
    const types = parts.map(({ type }) => type)
    t.equal(types.filter((type) => type === 'tool.approval.request').length, 1, when)
    t.equal(types.filter((type) => type === 'tool.approval.response').length, 1, when)
    t.match(await engine.get(run.runId), { status: 'completed' }, when)
  }
})

t.test('an approval can be answered while its run is being resumed', async (t) => {
  const { runnable } = resumable(async ({ approvals }) => {
    await approvals.request({ toolCallId: 'c', toolName: 'send', args: {} })
  })
  const { stores, run } = await crash(wide(runnable))
  const { log } = stores
  const answering = {
    ...log,
    follow: log.follow.bind(log),
    append: log.append.bind(log),
    abandon: () => {},
    // The log is read last before the run resumes.
    async read(...where: Parameters<typeof log.read>) {
      await engine.answer(`${run.runId}.1`, { approved: true }).catch(() => {})
      return log.read(...where)
    }
  }
  const engine = buildEngine(t, { stores: { ...stores, log: answering } })
  await engine.recover()
  t.equal(await engine.resume(wide(runnable)), 1)
  const parts = await partsOf({ parts: (after?: number) => engine.parts(run.runId, after) })
  t.equal(parts.filter(({ type }) => type === 'tool.approval.response').length, 1)
  t.match(parts.at(-1), { type: 'finish' })
})

t.test('closing suspends a run for the next process, and ends its readers', async (t) => {
  let hold = true
  const { runnable, done } = resumable(async (context) => {
    await context.step('slow', async () => {
      await turn()
      await turn()
      done.push('slow')
    })
    if (hold) await context.approvals.request({ toolCallId: 'c', toolName: 't', args: {} })
    await context.step('last', () => void done.push('last'))
  })
  const { stores, run, engine } = await crash(wide(runnable))
  const seen = partsOf(run)
  await engine.close()
  t.notMatch((await seen).at(-1), { type: 'error' })
  t.match(await stores.runs.get(run.runId), { status: /working|input-required/ })
  hold = false
  const next = buildEngine(t, { stores })
  await next.recover()
  await next.resume(wide(runnable))
  await partsOf({ parts: (after?: number) => next.parts(run.runId, after) })
  t.match(await next.get(run.runId), { status: 'completed' })
  t.same(done, ['first', 'slow', 'last'])
})

t.test('a restart does not lift the policy', async (t) => {
  const decisions: unknown[] = []
  let hold = true
  const { runnable } = resumable(async (context) => {
    if (hold) await new Promise(() => {})
    decisions.push(await context.authorize('run', { kind: 'agent', name: 'a' }))
  })
  for (const [guarded, policy, wanted] of [
    [true, undefined, false],
    [true, () => ({ allowed: true as const }), true],
    [false, undefined, true]
  ] as const) {
    hold = true
    const { stores, run } = await crash(
      wide(runnable),
      'x',
      guarded ? { authorize: () => ({ allowed: true }) } : {}
    )
    hold = false
    const engine = buildEngine(t, { stores, authorize: policy })
    await engine.recover()
    await engine.resume(wide(runnable))
    await partsOf({ parts: (after?: number) => engine.parts(run.runId, after) })
    t.match(decisions.at(-1), { allowed: wanted })
  }
})

t.test(
  'a run resumes under the policy of its surface, or under the given one if the surface is gone',
  async (t) => {
    const registry = createRegistry()
    const policyOf = (allowed: boolean, isOwn: boolean) => ({
      authorize: async () => ({ allowed }) as const,
      isOwn
    })
    const cases: [
      first: SurfacePolicy,
      second: SurfacePolicy | undefined,
      given: boolean | undefined,
      wanted: boolean
    ][] = [
      [policyOf(true, true), policyOf(true, true), false, true],
      [policyOf(true, true), policyOf(false, true), true, false],
      [policyOf(true, true), undefined, undefined, false],
      [policyOf(true, true), undefined, true, true],
      [policyOf(true, false), policyOf(true, false), undefined, true],
      [policyOf(true, false), policyOf(false, true), true, false],
      [policyOf(true, false), undefined, undefined, true],
      [policyOf(true, false), undefined, false, true]
    ]
    for (const [index, [first, second, given, wanted]] of cases.entries()) {
      let hold = true
      const decisions: unknown[] = []
      const { runnable } = resumable(async (context) => {
        if (hold) await new Promise(() => {})
        decisions.push(await context.authorize('run', { kind: 'agent', name: 'a' }))
      })
      const options = { registry: 'global', surface: 's', authorize: first.authorize }
      const { stores, run } = await crash(wide(runnable), 'x', options, (engine) => {
        engine.surfaces.add({ surface: 's', registry, policy: first })
      })
      hold = false
      const authorize = given === undefined ? undefined : async () => ({ allowed: given }) as const
      const engine = buildEngine(t, { stores, authorize })
      if (second !== undefined) engine.surfaces.add({ surface: 's', registry, policy: second })
      engine.surfaces.add({ surface: 'other', registry, policy: policyOf(!wanted, true) })
      await engine.recover()
      t.equal(await engine.resume(wide(runnable), 'global'), 1)
      await partsOf({ parts: (after?: number) => engine.parts(run.runId, after) })
      t.match(decisions, [{ allowed: wanted }], `case ${index}`)
    }
  }
)

t.test('a run resumes only with the runnable of its own registry', async (t) => {
  let hold = true
  const { runnable } = resumable(() => hold && new Promise(() => {}))
  const { stores, run } = await crash(wide(runnable), 'x', { registry: 'b' })
  hold = false
  const engine = buildEngine(t, { stores })
  await engine.recover()
  t.equal(await engine.resume(wide(runnable)), 0)
  t.equal(await engine.resume(wide(runnable), 'a'), 0)
  t.match(await engine.get(run.runId), { registry: 'b', status: 'working', epoch: 1 })
  t.equal(await engine.resume(wide(runnable), 'b'), 1)
})

t.test('a run resumes with a runnable that takes a moment to be found', async (t) => {
  let hold = true
  const { runnable } = resumable(() => hold && new Promise(() => {}))
  const { stores, run } = await crash(wide(runnable), 'x', { registry: 'global' })
  hold = false
  const engine = buildEngine(t, { stores })
  const registry = { get: async () => wide(runnable), list: () => [] } as unknown as Registry
  engine.surfaces.add({ surface: 's', registry })
  await engine.recover()
  await partsOf({ parts: (after?: number) => engine.parts(run.runId, after) })
  t.match(await engine.get(run.runId), { status: 'completed' })
})

t.test('a run with bytes of the client cannot be resumed, one with a URL can', async (t) => {
  const { runnable } = resumable(() => new Promise(() => {}))
  const file = { size: 1, stream: async function* () {} }
  const contents = { file: { file }, base64: { data: 'AAEC' }, url: { url: 'https://example.com/a' } }
  for (const [name, content] of Object.entries(contents)) {
    const { stores, run } = await crash(runnable, [{ type: 'file', mimeType: 'a/b', ...content }])
    const isLost = name !== 'url'
    t.equal((await stores.checkpoints.load(run.runId)) === undefined, isLost, name)
    t.equal(await buildEngine(t, { stores }).recover(), isLost ? 1 : 0, name)
  }
})

function named({ kind, name, stream }: Runnable) {
  return { kind, name, stream, resumable: true }
}

/** The same runnable, for any input. */
function wide(runnable: Runnable): Runnable {
  return defineRunnable({
    ...named(runnable),
    stream: (input, context) => runnable.stream(input, context),
    inputSchema: Type.Unknown()
  })
}
