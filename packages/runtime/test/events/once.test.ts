import { Type } from '@sinclair/typebox'
import { createRegistry, createRunEngine, defineRunnable, type Runnable } from '@svc/registry'
import { toRunnables } from '@svc/registry/engine'
import { defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t, { type Test } from 'tap'
import { makeAgent } from '../helpers/make-agent.ts'
import { makeTeam } from '../helpers/make-team.ts'
import { makeWorkflow } from '../helpers/make-workflow.ts'

/** Runs in an engine, and lists name, runnable and source of the events. */
async function eventsOf(t: Test, runnable: Runnable) {
  const engine = createRunEngine({ drainTimeout: 0 })
  t.teardown(() => engine.close())
  const seen: string[] = []
  for (const name of ['run.start', 'run.stream.chunk', 'run.complete', 'run.error'] as const)
    engine.events.on(name, (event) =>
      seen.push(
        [name, event.name, ...(event.source ?? []), 'text' in event ? event.text : ''].join(' ').trim()
      )
    )
  await (await engine.start(runnable, 'Hi')).result()
  return seen
}

const byHand = defineRunnable({ kind: 'agent', name: 'hand', run: () => 'done' })

t.test('an agent in an engine emits its run once, even under another name', async (t) => {
  const { agent } = makeAgent('Hello.')
  const [renamed] = toRunnables({ alias: agent })
  for (const [runnable, name] of [
    [agent, 'tester'],
    [renamed!, 'alias']
  ] as const)
    t.strictSame(await eventsOf(t, runnable), [
      `run.start ${name}`,
      `run.stream.chunk ${name} Hello.`,
      `run.complete ${name}`
    ])
})

t.test('so do teams, workflows, members and steps of every kind', async (t) => {
  const { agent } = makeAgent('Hello.', { name: 'a' })
  const team = makeTeam({ mode: 'sequence', members: [agent, byHand] })
  t.strictSame(await eventsOf(t, team), [
    'run.start crew',
    'run.start a a',
    'run.stream.chunk a a Hello.',
    'run.complete a a',
    'run.start hand hand',
    'run.stream.chunk hand hand done',
    'run.complete hand hand',
    'run.stream.chunk crew done',
    'run.complete crew'
  ])
  t.strictSame(
    await eventsOf(
      t,
      makeWorkflow((flow) => flow.step('one', byHand).step('two', () => 'x'))
    ),
    [
      'run.start flow',
      'run.start hand one',
      'run.stream.chunk hand one done',
      'run.complete hand one',
      'run.stream.chunk flow x',
      'run.complete flow'
    ]
  )
})

t.test('a member that fails or is abandoned', async (t) => {
  const bad = defineRunnable({ kind: 'agent', name: 'bad', run: () => Promise.reject(new Error('no')) })
  const model = scriptedModel([{ toolCalls: [{ toolName: 'bad', args: { message: 'x' } }] }, 'Sorry.'])
  t.strictSame(await eventsOf(t, makeTeam({ mode: 'coordinate', members: [bad], model })), [
    'run.start crew',
    'run.start bad bad',
    'run.error bad bad',
    'run.stream.chunk crew Sorry.',
    'run.complete crew'
  ])
})

t.test('an agent called by user code within a run emits its own run', async (t) => {
  const { agent: inner } = makeAgent('Inside.', { name: 'inner' })
  for (const place of ['child', 'same'] as const) {
    const ask = defineTool({
      name: 'ask',
      description: '',
      input: Type.Object({}),
      execute: async (_args, { context }) =>
        (await inner.run('x', place === 'child' ? context.child('deep') : context)).text
    })
    const { agent } = makeAgent([{ toolCalls: [{ toolName: 'ask' }] }, 'Outside.'], { tools: [ask] })
    const at = place === 'child' ? 'inner deep' : 'inner'
    t.strictSame(await eventsOf(t, agent), [
      'run.start tester',
      `run.start ${at}`,
      `run.stream.chunk ${at} Inside.`,
      `run.complete ${at}`,
      'run.stream.chunk tester Outside.',
      'run.complete tester'
    ])
  }
  const delegating = defineRunnable({
    kind: 'agent',
    name: 'router',
    stream: (input, context) => inner.stream(input, context)
  })
  t.strictSame(await eventsOf(t, delegating), [
    'run.start router',
    'run.start inner',
    'run.stream.chunk inner Inside.',
    'run.stream.chunk router Inside.',
    'run.complete inner',
    'run.complete router'
  ])
})

t.test('text of a leader that is not its answer emits no chunks', async (t) => {
  const { agent } = makeAgent('Hello.', { name: 'a' })
  const model = scriptedModel([
    { text: 'I pick a.', toolCalls: [{ toolName: 'route', args: { member: 'a' } }] }
  ])
  const registry = createRegistry()
  const team = registry.add(makeTeam({ mode: 'route', members: [agent], model }))
  const pieces = (await eventsOf(t, team)).filter((event) => event.startsWith('run.stream'))
  t.strictSame(pieces, ['run.stream.chunk a Hello.', 'run.stream.chunk crew Hello.'])
})
