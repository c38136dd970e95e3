import { Type } from '@sinclair/typebox'
import type { NumberedPart, Runnable } from '@svc/registry'
import { Agent, defineTool, guard, Team, type Middleware } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { survive, validParts } from '../helpers/crashing.ts'
import { makeWorkflow } from '../helpers/make-workflow.ts'

/** What happened in all processes. */
interface Seen {
  prompts: string[]
  asked: { name: string; text: string; isReplayed: boolean }[]
}

// Says something else each time, so that a verdict given twice shows.
const tag = (seen: Seen, name: string): Middleware => ({
  name,
  beforeRun({ text, isReplayed }) {
    seen.asked.push({ name, text, isReplayed })
    return { input: `${text} ${name}${seen.asked.length}` }
  }
})

// Leaves no part: it is recorded with the step that follows.
const allow = (seen: Seen, name: string): Middleware => ({
  name,
  beforeRun({ text, isReplayed }) {
    seen.asked.push({ name, text, isReplayed })
  }
})

const look = defineTool({
  name: 'look',
  description: 'Looks',
  input: Type.Object({}),
  idempotent: true,
  execute: () => 'seen'
})

function agent(seen: Seen, name: string, use: Middleware[], steps = 2) {
  const model = scriptedModel(({ prompt }) => {
    seen.prompts.push(`${name}: ${JSON.stringify(prompt.filter(({ role }) => role === 'user'))}`)
    const isLast = prompt.filter(({ role }) => role === 'tool').length >= steps - 1
    return isLast ? `${name} answers` : { toolCalls: [{ toolName: 'look', args: {} }] }
  })
  return new Agent({ name, register: false, model, tools: [look], use })
}

const cases: Record<string, (seen: Seen) => Runnable> = {
  'an agent of one step': (seen) => agent(seen, 'one', [tag(seen, 'a'), tag(seen, 'b')], 1),
  'an agent whose hooks allow': (seen) => agent(seen, 'one', [allow(seen, 'a'), allow(seen, 'b')]),
  'an agent with tools': (seen) => agent(seen, 'one', [tag(seen, 'a'), allow(seen, 'b')], 3),
  'an agent whose hook answers': (seen) =>
    agent(seen, 'one', [
      tag(seen, 'a'),
      {
        name: 'b',
        beforeRun({ text, isReplayed }) {
          seen.asked.push({ name: 'b', text, isReplayed })
          return { action: 'block', answer: `No ${seen.asked.length}` }
        }
      }
    ]),
  'a team': (seen) =>
    new Team({
      name: 'team',
      register: false,
      mode: 'sequence',
      use: [tag(seen, 'team')],
      members: [agent(seen, 'one', [tag(seen, 'a')]), agent(seen, 'two', [allow(seen, 'b')], 1)]
    }),
  'a workflow': (seen) =>
    makeWorkflow((flow) => flow.step('one', agent(seen, 'one', [tag(seen, 'a')])), {
      use: [allow(seen, 'flow')]
    })
}

const guards = (parts: readonly NumberedPart[]) =>
  parts.flatMap((part) =>
    part.type === 'guard' ? [`${part.source?.join('/')} ${part.name} ${part.action}`] : []
  )

for (const [name, make] of Object.entries(cases))
  t.test(`${name}: a verdict that is recorded is not asked again, whenever a process dies`, async (t) => {
    const unbroken: Seen = { prompts: [], asked: [] }
    const whole = await survive(() => make(unbroken), [], { options: { sessionId: 's' } })
    t.equal(whole.status, 'completed')
    for (let lifetime = 1; lifetime < whole.appends; lifetime++) {
      const after = `after ${lifetime} appends`
      const seen: Seen = { prompts: [], asked: [] }
      const broken = await survive(() => make(seen), [lifetime], { options: { sessionId: 's' } })
      t.equal(broken.status, 'completed', after)
      t.same(guards(validParts(broken.parts)), guards(whole.parts), `one part for each verdict ${after}`)
      t.equal(broken.result!.finishReason, whole.result!.finishReason)
      const asked = seen.asked.map((each) => each.name)
      const again = seen.asked.length - unbroken.asked.length
      // Only the verdicts whose write was the one that failed.
      t.ok(again <= 2, `${again} hooks are asked again ${after}`)
      if (again === 0)
        t.same(
          asked,
          unbroken.asked.map((each) => each.name)
        )
      // What a model was told is what the log's verdict made of it.
      t.equal(new Set(seen.prompts).size <= new Set(unbroken.prompts).size + again, true, after)
    }
  })

t.test('no process says what a guard replaces, whenever one dies', async (t) => {
  const word = guard({
    name: 'word',
    on: ['output'],
    hold: 8,
    check: ({ held }) =>
      held.includes('secret') ? { action: 'replace', text: held.replaceAll('secret', '[-]') } : undefined
  })
  const make = () => {
    const model = scriptedModel(({ prompt }) => {
      const text = ['the sec', 'ret is', ' a sec', 'ret, said in words']
      return prompt.some(({ role }) => role === 'tool')
        ? { text }
        : { text, toolCalls: [{ toolName: 'look', args: {} }] }
    })
    return new Agent({ name: 'one', register: false, model, tools: [look], use: [word] })
  }
  const whole = await survive(make, [], { options: { sessionId: 's' } })
  t.equal(whole.result!.text, 'the [-] is a [-], said in words')
  for (let lifetime = 1; lifetime < whole.appends; lifetime++) {
    const broken = await survive(make, [lifetime], { options: { sessionId: 's' }, isSlow: true })
    t.equal(broken.result!.text, whole.result!.text, `after ${lifetime} appends`)
    const said = broken.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
    t.notMatch(said, 'secret')
    t.notMatch(JSON.stringify([broken.parts, broken.result]), 'secret')
  }
})
