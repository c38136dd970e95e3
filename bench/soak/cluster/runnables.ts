import { setTimeout as pause } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import type { Registry } from '@svc/registry'
import { Agent, Workflow, defineTool } from '@svc/runtime'
import { scriptedModel, type ScriptedTurn } from '@svc/runtime/testing'
import { addPupil } from './shown.ts'

/** Records an effect of a step under its idempotency key. */
type Act = (key: string, kind: 'once' | 'again') => void

/** The answer of each runnable, however often its process dies. */
export const ANSWERS = {
  talker: words('word', 20).join(''),
  helper: words('done', 8).join(''),
  clerk: 'sent',
  queued: JSON.stringify(['q']),
  flow: JSON.stringify(['a', { l: 'l', r: 'r' }, words('draft', 10).join(''), 'e']),
  review: JSON.stringify(['draft', 'published'])
} as const
export type RunnableName = keyof typeof ANSWERS

/** Which of them are workflows. */
export const WORKFLOWS: readonly RunnableName[] = ['flow', 'review', 'queued']

const PACE = 20
// Approvals outlast clocks that differ by minutes.
const PATIENCE = 86_400_000
const input = Type.Object({})

/** The files of all processes. */
interface Notes {
  act: Act
  /** The file of what models were shown. */
  readonly shown: string
}

/** Adds agents that stream, call tools, ask for approvals and converse, and workflows of steps and waits, some of them queued. */
export function addRunnables(registry: Registry, { act, shown }: Notes): void {
  const tool = (name: string, kind: 'once' | 'again', approval = false) =>
    defineTool({
      name,
      description: name,
      input,
      idempotent: kind === 'again',
      approval,
      approvalTimeout: PATIENCE,
      async execute(_args, { idempotencyKey }) {
        act(idempotencyKey, kind)
        await pause(PACE)
        return name
      }
    })
  const agent = (name: string, turns: readonly ScriptedTurn[], tools: ReturnType<typeof tool>[] = []) =>
    new Agent({ name, model: modelOf(turns), tools, registry })

  agent('talker', [{ text: words('word', 20), delay: PACE }])
  agent(
    'helper',
    [
      { toolCalls: [{ toolName: 'look', toolCallId: 'c1', args: {} }], delay: PACE },
      {
        toolCalls: [
          { toolName: 'book', toolCallId: 'c2', args: {} },
          { toolName: 'look', toolCallId: 'c3', args: {} }
        ],
        delay: PACE
      },
      { text: words('done', 8), delay: PACE }
    ],
    [tool('look', 'again'), tool('book', 'once')]
  )
  agent(
    'clerk',
    [{ toolCalls: [{ toolName: 'send', toolCallId: 'c1', args: {} }], delay: PACE }, { text: 'sent' }],
    [tool('send', 'once', true)]
  )
  addPupil(registry, [tool('look', 'again'), tool('send', 'once', true)], shown)

  // How many turns its session has had, and a run that ends soon.
  const counter = scriptedModel(
    ({ prompt }) => ({ text: String(prompt.filter(({ role }) => role === 'assistant').length), delay: 2 }),
    { record: false }
  )
  new Agent({ name: 'counter', model: counter, registry })
  agent('brief', [{ text: words('word', 5), delay: 2 }])

  const step =
    (output: string) =>
    async ({ idempotencyKey }: { idempotencyKey: string }) => {
      act(idempotencyKey, 'again')
      await pause(PACE)
      return output
    }
  const drafter = new Agent({
    name: 'drafter',
    model: modelOf([{ text: words('draft', 10), delay: PACE }]),
    registry
  })
  new Workflow({
    name: 'flow',
    registry,
    steps: (flow) =>
      flow
        .step('a', step('a'))
        .parallel('p', (inner) => ({ l: inner.step('l', step('l')), r: inner.step('r', step('r')) }))
        .step('draft', drafter, { input: () => 'Draft.' })
        .step('e', step('e'))
        .step('end', ({ steps }) => [steps.a, steps.p, steps.draft, steps.e])
  })
  const alone = (name: string, queue: boolean) =>
    new Workflow({
      name,
      queue,
      registry,
      steps: (flow) => flow.step('q', step('q')).step('end', ({ steps }) => [steps.q])
    })
  alone('queued', true)
  // What schedules run.
  alone('tick', false)
  new Workflow({
    name: 'review',
    registry,
    steps: (flow) =>
      flow
        .step('draft', step('draft'))
        .wait('allowed', { approval: { toolName: 'publish', timeout: PATIENCE } })
        .step('publish', step('published'))
        .step('end', ({ steps }) => [steps.draft, steps.publish])
  })
}

// Which turn is next depends on the prompt only, so that another process takes the same.
function modelOf(turns: readonly ScriptedTurn[]) {
  return scriptedModel(({ prompt }) => turns[prompt.filter(({ role }) => role === 'assistant').length]!, {
    record: false
  })
}

function words(word: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${word}${index} `)
}
