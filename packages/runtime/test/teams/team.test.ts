import {
  createEventBus,
  createRegistry,
  createRunEngine,
  defineRunnable,
  globalRegistry,
  type Runnable
} from '@svc/registry'
import { pause, runnableContract, scriptedRunnable } from '@svc/testing'
import { Agent, Team, type TeamOptions } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { collect, makeContext } from '../helpers/make-agent.ts'
import { makeTeam, member, runIn, type AnyTeamOptions } from '../helpers/make-team.ts'

const echo = (name: string) =>
  defineRunnable({ kind: 'agent', name, run: (input) => `${name}: ${String(input)}` })
const hanging = (name: string) =>
  scriptedRunnable([{ type: 'text', text: name }, () => new Promise(() => {})], { name })
const echoing = () =>
  scriptedModel(({ prompt }) => ({
    text: `led ${JSON.stringify(prompt.findLast(({ role }) => role === 'user')?.content)}`
  }))
const picking = () => scriptedModel({ toolCalls: [{ toolName: 'route', args: { member: 'a' } }] })
const asking = () => scriptedModel({ toolCalls: [{ toolName: 'a', args: { message: 'go' } }] })

const modes: Record<TeamOptions['mode'], [AnyTeamOptions, AnyTeamOptions]> = {
  coordinate: [{ model: echoing() }, { model: asking() }],
  route: [{ model: picking() }, { model: picking() }],
  parallel: [{ merge: (all) => all.map(({ text }) => text).join() }, { model: echoing() }],
  sequence: [{}, {}]
}

for (const [mode, [options, hangingOptions]] of Object.entries(modes) as [
  TeamOptions['mode'],
  [AnyTeamOptions, AnyTeamOptions]
][]) {
  t.test(`a team that is to ${mode} is a runnable`, async (t) => {
    runnableContract(
      t,
      () => makeTeam({ mode, members: [echo('a'), echo('b')], instructions: 'SECRET', ...options }),
      {
        secrets: ['SECRET'],
        makeHanging: () => makeTeam({ mode, members: [hanging('a'), hanging('b')], ...hangingOptions })
      }
    )
  })

  t.test(`${mode}: canceling reaches every member`, async (t) => {
    const aborted: string[] = []
    const waiting = (name: string) =>
      scriptedRunnable(
        [
          { type: 'text', text: name },
          ({ signal }) =>
            pause(60_000, signal).catch((err) => {
              aborted.push(name)
              throw err
            })
        ],
        { name }
      )
    const engine = createRunEngine({ drainTimeout: 0 })
    const team = makeTeam({ mode, members: [waiting('a'), waiting('b')], ...hangingOptions })
    const run = await engine.start(team, 'Hi')
    const wanted = mode === 'parallel' ? ['a', 'b'] : ['a']
    const begun = new Set<string>()
    for await (const part of run.parts()) {
      if (part.type === 'text' && begun.add(part.text).size === wanted.length) break
    }
    await run.cancel()
    await pause(10, new AbortController().signal)
    t.same(aborted, wanted)
    t.match(await run.result(), { finishReason: 'canceled' })
    await engine.close()
  })
}

t.test('a stream that is left, and a run whose time is over, end the members', async (t) => {
  for (const timeout of [20, 60_000]) {
    const ended = Promise.withResolvers<string>()
    const a = defineRunnable({
      kind: 'agent',
      name: 'a',
      async *stream(_, { signal }) {
        try {
          yield { type: 'text', text: 'a' }
          await pause(60_000, signal)
        } finally {
          ended.resolve('ended')
        }
      }
    })
    const team = makeTeam({ mode: 'sequence', members: [a], timeout: { run: timeout } })
    if (timeout === 20) t.match((await collect(team.stream('Hi'))).error, { code: 'RUN_ERR_TIMEOUT' })
    else for await (const part of team.stream('Hi')) if (part.type === 'text') break
    t.equal(await ended.promise, 'ended')
  }
})

t.test('a member that never settles does not keep a run from its end', async (t) => {
  const { error } = await collect(
    makeTeam({
      mode: 'parallel',
      members: [hanging('a'), echo('b')],
      merge: () => '',
      timeout: { run: 30 }
    }).stream('Hi')
  )
  t.match(error, { code: 'RUN_ERR_TIMEOUT' })
})

t.test('without delegation every member needs its own permission', async (t) => {
  const asked: unknown[] = []
  const options = {
    principal: { sub: 'ada', scopes: [] },
    authorize: (principal: { sub: string }, action: string, target: { name: string }) => {
      asked.push([principal.sub, action, target])
      return target.name === 'b' ? ({ allowed: false } as const) : ({ allowed: true } as const)
    }
  }
  const members = [echo('a'), echo('b')]
  const strict = await runIn(makeTeam({ mode: 'sequence', members, delegates: false }), 'Hi', options)
  t.match(strict.error, {
    code: 'RUN_ERR_MEMBER_FORBIDDEN',
    statusCode: 403,
    message: 'You may not run the agent "b"'
  })
  t.same(asked, [
    ['ada', 'run', { kind: 'agent', name: 'a' }],
    ['ada', 'run', { kind: 'agent', name: 'b' }]
  ])
  t.match((await runIn(makeTeam({ mode: 'sequence', members }), 'Hi', options)).result, { text: 'b: a: Hi' })
  t.equal(asked.length, 2)
  const model = scriptedModel([{ toolCalls: [{ toolName: 'b', args: { message: 'x' } }] }, 'I may not'])
  const coordinating = await runIn(
    makeTeam({ mode: 'coordinate', members, model, delegates: false }),
    'Hi',
    options
  )
  t.match(coordinating.result, {
    text: 'I may not',
    toolCalls: [{ error: { message: /RUN_ERR_MEMBER_FORBIDDEN/ } }]
  })
})

t.test('teams of teams: sources are paths, usage is summed, sessions are apart', async (t) => {
  const agent = new Agent({ name: 'deep', model: scriptedModel('from the deep'), register: false })
  const inner = makeTeam({ name: 'inner', mode: 'sequence', members: [agent] })
  const { said, result } = await runIn(makeTeam({ mode: 'sequence', members: [inner, member('last')] }))
  t.same(said, ['inner/deep: from the deep', 'inner: from the deep', 'last: last answers', ': last answers'])
  t.match(result?.usage, { totalTokens: 14 })
})

t.test('an agent that is asked twice in a run remembers both', async (t) => {
  const model = scriptedModel(({ prompt }) => `${prompt.length}`)
  const agent = new Agent({ name: 'a', model, register: false })
  const leader = scriptedModel([
    { toolCalls: [{ toolName: 'a', args: { message: 'one' } }] },
    { toolCalls: [{ toolName: 'a', args: { message: 'two' } }] },
    'ok'
  ])
  const { result } = await runIn(makeTeam({ mode: 'coordinate', members: [agent], model: leader }))
  t.match(result?.toolCalls, [{ result: '1' }, { result: '3' }])
})

t.test('the bus is told of the team’s run', async (t) => {
  const events = createEventBus()
  const seen: unknown[] = []
  for (const name of ['run.start', 'run.complete', 'run.error', 'tool.call', 'run.stream.chunk'] as const)
    events.on(name, (event) =>
      seen.push([name, event.kind, event.name, 'usage' in event && event.usage.totalTokens])
    )
  const { context } = makeContext({ events })
  const model = scriptedModel([{ toolCalls: [{ toolName: 'a', args: { message: 'x' } }] }, 'ok'])
  await makeTeam({ mode: 'coordinate', members: [member('a')], model }).run('Hi', context)
  t.same(seen, [
    ['run.start', 'team', 'crew', false],
    ['tool.call', 'team', 'crew', false],
    ['run.start', 'agent', 'a', false],
    ['run.stream.chunk', 'agent', 'a', false],
    ['run.complete', 'agent', 'a', 3],
    ['run.stream.chunk', 'team', 'crew', false],
    ['run.complete', 'team', 'crew', 24]
  ])
  seen.length = 0
  await collect(
    makeTeam({ mode: 'sequence', members: [hanging('a')], timeout: { run: 10 } }).stream('Hi', context)
  )
  t.same(seen, [
    ['run.start', 'team', 'crew', false],
    ['run.start', 'agent', 'a', false],
    ['run.stream.chunk', 'agent', 'a', false],
    ['run.error', 'agent', 'a', false],
    ['run.error', 'team', 'crew', false]
  ])
})

t.test('registers itself, and describes itself', async (t) => {
  const registry = createRegistry()
  const options = {
    name: 'crew',
    mode: 'coordinate',
    members: [echo('a'), echo('b')],
    model: scriptedModel('x'),
    registry
  } as const
  const team = new Team({ ...options, description: 'helps' })
  t.equal(registry.get('team', 'crew'), team)
  t.same(team.describe(), {
    kind: 'team',
    name: 'crew',
    description: 'helps',
    model: 'scripted',
    members: ['a', 'b']
  })
  t.throws(() => new Team(options), { code: 'REG_ERR_NAME_TAKEN' })
  t.equal(registry.get('team', 'crew'), team)
  const next = new Team({ ...options, replace: true })
  t.equal(registry.get('team', 'crew'), next)
  new Team({ ...options, register: false })
  const global = new Team({ name: 'global crew', mode: 'sequence', members: [echo('a')] })
  t.equal(globalRegistry.get('team', 'global crew'), global)
  globalRegistry.remove('team', 'global crew')
})

t.test('a bad option is an error that names it', async (t) => {
  const good = { name: 'crew', mode: 'sequence', members: [echo('a')], register: false } as const
  const bad: [object, string, RegExp][] = [
    [{ members: [] }, 'RUN_ERR_BAD_TEAM', /members/],
    [{ members: [echo('a'), echo('a')] }, 'RUN_ERR_BAD_TEAM', /members\/1: duplicate member "a"/],
    [{ members: [{ kind: 'agent', name: 'x' }] }, 'REG_ERR_BAD_RUNNABLE', /"x"/],
    [
      { members: [echo('a'), 'b'] },
      'REG_ERR_BAD_RUNNABLE',
      /^team "crew": members\/1: Not a runnable: it is not an object; expected an agent, .* `run` or `stream`/
    ],
    [{ members: [{}] }, 'REG_ERR_BAD_KIND', /^team "crew": members\/0: Bad kind/],
    [
      { mode: 'chaos' },
      'RUN_ERR_BAD_TEAM',
      /mode: expected 'coordinate', 'route', 'parallel' or 'sequence', got/
    ],
    [
      { instructions: 5 },
      'RUN_ERR_BAD_TEAM',
      /instructions: expected a string or a function, got an integer$/
    ],
    [{ mode: 'coordinate' }, 'RUN_ERR_BAD_TEAM', /model: required, the mode coordinate needs a leader/],
    [{ mode: 'route' }, 'RUN_ERR_BAD_TEAM', /model/],
    [{ mode: 'parallel' }, 'RUN_ERR_BAD_TEAM', /merge: required/],
    [{ mode: 'parallel', merge: () => '', model: scriptedModel('x') }, 'RUN_ERR_BAD_TEAM', /merge/],
    [{ merge: () => '' }, 'RUN_ERR_BAD_TEAM', /merge/],
    [{ model: scriptedModel('x') }, 'RUN_ERR_BAD_TEAM', /model/],
    [{ mode: 'route', model: 'gpt' }, 'RUN_ERR_BAD_MODEL', /string/],
    [{ mode: 'route', model: scriptedModel('x'), provider: 'openai' }, 'RUN_ERR_BAD_TEAM', /provider/],
    [{ delegates: 'yes' }, 'RUN_ERR_BAD_TEAM', /delegates/],
    [{ tools: [] }, 'RUN_ERR_BAD_TEAM', /tools/],
    [{ name: 'a/b' }, 'REG_ERR_BAD_NAME', /\//]
  ]
  for (const [options, code, message] of bad)
    t.throws(
      () => new Team({ ...good, ...options } as TeamOptions),
      { code, message },
      JSON.stringify(options)
    )
})

t.test('members may be anything with a stream', async (t) => {
  const plain = { kind: 'agent', name: 'plain', run: () => 'plain' } as unknown as Runnable
  t.match((await runIn(makeTeam({ mode: 'sequence', members: [plain] }))).result, { text: 'plain' })
})
