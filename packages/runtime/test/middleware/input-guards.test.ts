import { Type } from '@sinclair/typebox'
import type { NumberedPart, RunInput } from '@svc/registry'
import { Agent, guard, Team, Workflow, type Middleware } from '@svc/runtime'
import { RUN_ERR_REJECTED } from '@svc/contract/errors'
import { scriptedModel, type ScriptedModel } from '@svc/runtime/testing'
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'
import { makeTeam, runIn } from '../helpers/make-team.ts'
import { makeWorkflow } from '../helpers/make-workflow.ts'

/** What the user says in a prompt. */
const asked = ({ prompt }: LanguageModelV4CallOptions) =>
  prompt.flatMap(({ role, content }) =>
    role === 'user' ? content.map((part) => (part.type === 'text' ? part.text : part.type)) : []
  )

const askedOf = (model: ScriptedModel) => model.calls.map(asked)

const guardsIn = (parts: readonly NumberedPart[]) => parts.filter((part) => part.type === 'guard')

const mask = guard({
  name: 'mask',
  on: ['input'],
  check: ({ text }) => ({ action: 'replace', text: text.replaceAll('4111', '[card]') })
})

const refuse = (more: object = {}) =>
  guard({
    name: 'policy',
    on: ['input'],
    check: ({ text }) =>
      text.includes('bomb') ? { action: 'block', reason: 'Not here', ...more } : undefined
  })

t.test('an input that is blocked reaches no model, and no session', async (t) => {
  const { agent, model } = makeAgent('Sure', { use: [refuse({ note: 'rule 7' })] })
  const { context, logged } = makeContext({ sessionId: 's' })
  const told: unknown[] = []
  context.events.on('guard.verdict', (verdict) => told.push(verdict))
  const { parts, error } = await collect(agent.stream('a bomb', context))
  t.match(error, { code: 'RUN_ERR_BLOCKED', statusCode: 422, message: 'Not here' })
  t.same(parts, [{ type: 'guard', name: 'policy', on: 'input', action: 'block', reason: 'Not here' }])
  t.same(model.calls, [])
  t.match(told, [{ name: 'policy', on: 'input', action: 'block', reason: 'Not here', note: 'rule 7' }])
  t.match(
    logged.filter(({ message }) => message === 'a middleware stepped in'),
    [{ level: 'info', details: { name: 'policy', note: 'rule 7' } }]
  )
  await collect(agent.stream('fine', context))
  t.same(askedOf(model), [['fine']])
})

t.test('a reason is not required', async (t) => {
  const { agent } = makeAgent('Sure', { use: [{ name: 'no', beforeRun: () => ({ action: 'block' }) }] })
  const { error } = await runIn(agent)
  t.match(error, { code: 'RUN_ERR_BLOCKED', message: 'The run was stopped by a rule of this service' })
})

t.test('a block may answer: the session keeps both, as other guards left them', async (t) => {
  const { agent, model } = makeAgent('Sure', { use: [mask, refuse({ answer: 'I do not help with that.' })] })
  const { context } = makeContext({ sessionId: 's' })
  const { parts, text } = await collect(agent.stream('a bomb for 4111', context))
  t.equal(text, 'I do not help with that.')
  t.same(parts.at(-1), { type: 'finish', finishReason: 'content-filter' })
  await collect(agent.stream('and now?', context))
  t.match(model.calls[0]!.prompt.slice(-3), [
    { role: 'user', content: [{ text: 'a bomb for [card]' }] },
    { role: 'assistant', content: [{ text: 'I do not help with that.' }] },
    { role: 'user', content: [{ text: 'and now?' }] }
  ])
})

t.test('a run of the engine that a guard answers is completed', async (t) => {
  const { agent } = makeAgent('Sure', { use: [refuse({ answer: 'No.' })] })
  const { result, record, parts } = await runIn(agent, 'a bomb')
  t.match(result, { text: 'No.', finishReason: 'content-filter' })
  t.equal(record?.status, 'completed')
  t.match(parts[0], { type: 'start', input: 'a bomb' }, 'the log keeps what was sent')
})

t.test('another input goes to prompt and session', async (t) => {
  const { agent, model } = makeAgent('Sure', { use: [mask] })
  const { context } = makeContext({ sessionId: 's' })
  const list = [
    { type: 'text', text: 'card' },
    { type: 'image', mimeType: 'image/png', data: 'AAAA' },
    { type: 'text', text: '4111' }
  ]
  await collect(agent.stream('card 4111', context))
  await collect(agent.stream(list as RunInput, context))
  t.same(askedOf(model), [['card [card]'], ['card [card]', 'card\n[card]', 'file']])
})

t.test('the last message of a conversation that the caller keeps is checked', async (t) => {
  const messages = [
    { role: 'user', content: '4111 one' },
    { role: 'assistant', text: 'Yes' },
    { role: 'user', content: '4111 two' }
  ] as const
  const { agent, model } = makeAgent('Sure', { use: [mask] })
  await collect(agent.stream(undefined, { messages }))
  t.same(asked(model.calls[0]!), ['4111 one', '[card] two'])
  const leader = scriptedModel('Sure')
  const team = makeTeam({ mode: 'coordinate', model: leader, members: [makeAgent('x').agent], use: [mask] })
  await collect(team.stream(undefined, { messages }))
  t.same(asked(leader.calls[0]!), ['4111 one', '[card] two'])
  await collect(agent.stream(undefined, { messages: messages.slice(0, 2) }))
  t.same(asked(model.calls[1]!)[0], '4111 one', 'an answer that is continued was checked')
})

t.test('the outermost hook is asked first, and each sees what the one before it made', async (t) => {
  const seen: string[] = []
  const add = (name: string): Middleware => ({
    name,
    beforeRun({ text, runnable, joined }) {
      seen.push(`${name} of ${runnable.name}: ${text}${joined ? ' (joined)' : ''}`)
      return { input: `${text} ${name}` }
    }
  })
  const one = scriptedModel('One')
  const two = scriptedModel('Two')
  const member = new Agent({ name: 'one', model: one, register: false, use: [add('own')] })
  const flow = makeWorkflow(
    (steps) => steps.step('two', new Agent({ name: 'two', model: two, register: false })),
    {
      name: 'inner',
      use: [add('flow')]
    }
  )
  const team = new Team({
    name: 'team',
    register: false,
    mode: 'sequence',
    members: [member, flow],
    use: [add('team'), add('more')]
  })
  await runIn(team, 'Hi')
  t.same(seen, [
    'team of team: Hi',
    'more of team: Hi team',
    'own of one: Hi team more',
    'flow of inner: One'
  ])
  t.same([askedOf(one), askedOf(two)], [[['Hi team more own']], [['One flow']]])
})

t.test('teams and workflows may be blocked, with an answer or without', async (t) => {
  const model = scriptedModel('Sure')
  const member = () => new Agent({ name: 'member', model, register: false })
  const kinds = {
    sequence: (use: Middleware[]) => makeTeam({ mode: 'sequence', members: [member()], use }),
    coordinate: (use: Middleware[]) =>
      makeTeam({ mode: 'coordinate', members: [member()], model: scriptedModel('Lead'), use }),
    workflow: (use: Middleware[]) => makeWorkflow((flow) => flow.step('member', member()), { use })
  }
  for (const [kind, make] of Object.entries(kinds)) {
    const failed = await runIn(make([refuse()]), 'a bomb')
    t.match(failed.error, { code: 'RUN_ERR_BLOCKED' }, kind)
    const answered = await runIn(make([refuse({ answer: 'No.' })]), 'a bomb')
    t.match(answered.result, { text: 'No.', finishReason: 'content-filter' }, kind)
    t.match(guardsIn(answered.parts), [{ name: 'policy', action: 'block' }], kind)
  }
  t.same(model.calls, [])
})

t.test('a team asked without a leader keeps the answer of a guard in its session', async (t) => {
  const model = scriptedModel('Sure')
  const team = new Team({
    name: 'team',
    register: false,
    mode: 'sequence',
    members: [new Agent({ name: 'member', model, register: false })],
    use: [refuse({ answer: 'No.' })]
  })
  const { context } = makeContext({ sessionId: 's' })
  await collect(team.stream('a bomb', context))
  const { sessions } = context.stores
  const key = {
    registry: context.registry,
    owner: context.sessionOwner,
    kind: 'team',
    name: 'team',
    sessionId: 's'
  } as const
  t.match(await sessions.load(key, 10), [{ content: 'a bomb' }, { text: 'No.' }])
})

t.test('the input of a workflow is checked as data', async (t) => {
  const given: unknown[] = []
  const flow = (use: Middleware[]) =>
    new Workflow({
      name: 'flow',
      register: false,
      input: Type.Object({ amount: Type.Number() }),
      use,
      steps: (steps) => steps.step('look', ({ input }) => void given.push(input))
    })
  const cap: Middleware = {
    name: 'cap',
    beforeRun: ({ input }) => ({ input: { amount: Math.min((input as { amount: number }).amount, 100) } })
  }
  await runIn(flow([cap]), { amount: 500 })
  t.same(given, [{ amount: 100 }])
  const bad = await runIn(flow([{ name: 'bad', beforeRun: () => ({ input: { amount: 'x' } }) }]), {
    amount: 1
  })
  t.match(bad.error, { code: 'RUN_ERR_GUARD_FAILED' })
  const text = await runIn(flow([mask]), { amount: 4111 })
  t.match(text.error, { code: 'RUN_ERR_GUARD_FAILED' }, 'a text cannot replace data')
})

t.test('an audit changes nothing', async (t) => {
  const audit = (verdict: object) =>
    guard({ name: 'audit', on: ['input'], mode: 'audit', check: () => verdict as { action: 'allow' } })
  for (const verdict of [
    { action: 'block', reason: 'r', answer: 'No.' },
    { action: 'replace', text: 'x' }
  ]) {
    const { agent, model } = makeAgent('Sure', { use: [audit(verdict)] })
    const { parts, result } = await runIn(agent, 'Hi')
    t.match(guardsIn(parts), [{ name: 'audit', on: 'input', action: 'audit' }])
    t.equal(result?.text, 'Sure')
    t.same(askedOf(model), [['Hi']])
  }
})

t.test('a hook gets copies', async (t) => {
  const input = [{ type: 'text', text: 'Hi' }]
  const { agent, model } = makeAgent('Sure', {
    use: [
      {
        name: 'vandal',
        beforeRun(state) {
          ;(state.input as typeof input)[0]!.text = 'bye'
        }
      }
    ]
  })
  await runIn(agent, input as RunInput)
  t.same(askedOf(model), [['Hi']])
})

const thrown = Object.freeze(new Error('secret'))
const fail = (err: unknown) => () => {
  throw err as Error
}

const failures: Record<string, () => unknown> = {
  'throws a string': fail('secret'),
  'throws a frozen error': fail(thrown),
  rejects: () => Promise.reject(thrown),
  'never resolves': () => new Promise(() => {}),
  'resolves with a function': () => Promise.resolve(() => {}),
  'has a getter that throws': () => ({
    get action() {
      return fail(thrown)()
    }
  }),
  'returns null': () => null,
  'returns true': () => true,
  'returns another action': () => ({ action: 'retry', feedback: 'x' }),
  'blocks with a long reason': () => ({ action: 'block', reason: 'x'.repeat(513) }),
  'blocks with a blank answer': () => ({ action: 'block', answer: ' ' }),
  'blocks with another field': () => ({ action: 'block', text: 'x' }),
  'returns an input that is none': () => ({ input: 5 })
}

for (const [name, beforeRun] of Object.entries(failures))
  t.test(`a hook that ${name} lets nothing pass`, async (t) => {
    const { agent, model } = makeAgent('Sure', {
      use: [{ name: 'broken', timeout: 20, beforeRun: beforeRun as NonNullable<Middleware['beforeRun']> }]
    })
    const { error, parts } = await runIn(agent)
    t.match(error, { code: 'RUN_ERR_GUARD_FAILED', message: 'A check of the service failed' })
    t.match(parts.at(-1), { type: 'error', error: { retryable: true } })
    t.notMatch(JSON.stringify(parts), 'secret')
    t.same(model.calls, [])
  })

t.test('what a hook may throw to the caller passes as it is', async (t) => {
  const rejecting = guard({
    name: 'rejecting',
    on: ['input'],
    onError: 'allow',
    check() {
      throw new RUN_ERR_REJECTED('too late')
    }
  })
  const { error } = await runIn(makeAgent('Sure', { use: [rejecting] }).agent)
  t.match(error, { code: 'RUN_ERR_REJECTED', message: 'too late' })
})

t.test('a guard may let pass what it could not check', async (t) => {
  const failing = [() => Promise.reject(thrown), () => new Promise<void>(() => {}), () => ({ action: 'x' })]
  for (const check of failing) {
    const open = guard({
      name: 'open',
      on: ['input'],
      onError: 'allow',
      timeout: 20,
      check: check as () => Promise<void>
    })
    const { result } = await runIn(makeAgent('Sure', { use: [open] }).agent)
    t.equal(result?.text, 'Sure')
  }
})

t.test('the time in which a hook waits for people does not count', async (t) => {
  const { agent, model } = makeAgent('Sure', {
    use: [
      {
        name: 'asks',
        timeout: 1_000,
        async beforeRun({ context, signal }) {
          const { action } = await context.ask({ message: 'Really?' })
          t.notOk(signal.aborted)
          return action === 'accept' ? undefined : { action: 'block' }
        }
      }
    ]
  })
  const { createRunEngine } = await import('@svc/registry')
  const engine = createRunEngine({ drainTimeout: 0 })
  t.teardown(() => engine.close())
  const run = await engine.start(agent, 'Hi')
  for await (const part of run.parts()) {
    if (part.type !== 'input.request') continue
    // Longer than the hook may take by itself.
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    await engine.answer(part.inputId, { action: 'accept' })
  }
  t.equal((await run.result()).text, 'Sure')
  t.equal(model.calls.length, 1)
})

t.test('a hook ends with its run', async (t) => {
  const started = Promise.withResolvers<AbortSignal>()
  const { agent } = makeAgent('Sure', {
    use: [
      {
        name: 'slow',
        beforeRun({ signal }) {
          started.resolve(signal)
          return new Promise(() => {})
        }
      }
    ]
  })
  const controller = new AbortController()
  const { context } = makeContext({ signal: controller.signal })
  const collecting = collect(agent.stream('Hi', context))
  const signal = await started.promise
  controller.abort(new Error('enough'))
  t.match((await collecting).error, { message: 'enough' })
  t.ok(signal.aborted)
})
