import { Type } from '@sinclair/typebox'
import type { ApprovalOutcome, MessageInput } from '@svc/registry'
import { Workflow, type Flow, type WorkflowOptions } from '@svc/runtime'
import t from 'tap'
import { makeWorkflow } from '../helpers/make-workflow.ts'
import { runIn } from '../helpers/make-team.ts'

/** The compiler is the test: it is a mistake when the two are not the same. */
function same<A, B>(
  ..._same: (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? [] : ['differs']
) {}

const input = Type.Object({ topic: Type.String(), words: Type.Array(Type.String()) })

t.test('steps are typed by the steps before them', async (t) => {
  const flow = new Workflow({
    name: 'typed',
    register: false,
    input,
    steps: (start) => {
      const built = start
        .step('length', ({ input: given, previous, steps }) => {
          same<typeof given, { topic: string; words: string[] }>()
          same<typeof previous, typeof given>()
          // @ts-expect-error there is no step yet
          void steps.length
          return given.topic.length
        })
        .step('next', async ({ steps, previous }) => {
          same<typeof previous, number>()
          return { twice: steps.length * 2 }
        })
        .step('agent', { kind: 'agent', name: 'a', run: () => 'text' }, { from: 'length' })
        .step(
          'judge',
          { kind: 'agent', name: 'j', run: () => ({ text: '', structured: { good: true } }) },
          {
            input: ({ previous }) => {
              same<typeof previous, string>()
              return previous
            },
            output: Type.Object({ good: Type.Boolean() })
          }
        )
        .branch(
          'verdict',
          ({ previous }) => (previous.good ? 'yes' : 'no'),
          (inner) => ({
            yes: inner.step('praise', ({ steps }) => steps.next.twice),
            no: inner.step('blame', () => 'no' as string)
          })
        )
        .parallel('both', (inner) => ({
          up: inner.step('up', ({ previous }) => {
            same<typeof previous, string | number>()
            return `${previous}!`
          }),
          same: inner
        }))
        .loop(
          'longer',
          (inner) =>
            inner.step('more', ({ previous, index }) => ({ ...previous, up: `${previous.up}${index}` })),
          {
            until: ({ previous }) => previous.up.length > 4
          }
        )
        .map(
          'each',
          ({ input: { words } }) => words,
          (inner) =>
            inner.step('upper', ({ previous }) => {
              same<typeof previous, string>()
              return previous.length
            })
        )
        .wait('nap', { sleep: ({ previous }) => previous.length })
        .wait('review', { approval: { args: ({ steps }) => steps.each, denied: 'continue' } })
        .step('last', ({ previous, steps }) => {
          same<typeof previous, number[]>()
          same<typeof steps.review, ApprovalOutcome>()
          // @ts-expect-error a step of a block is not seen outside of it
          void steps.praise
          return [steps.verdict, steps.both, steps.longer.up, previous, steps.review.approved]
        })
      return built
    }
  })
  const { result } = await runIn(flow, { topic: 'ab', words: ['x', 'yy'] }, { answers: { approved: true } })
  t.same(result?.structured, [4, { up: '4!', same: 4 }, '4!012', [1, 2], true])
})

t.test('what cannot be right does not compile', (t) => {
  const never = () => {
    // @ts-expect-error the name is taken
    makeWorkflow((flow) => flow.step('a', () => 1).step('a', () => 2))
    // @ts-expect-error there is no step "b"
    makeWorkflow((flow) => flow.step('a', { kind: 'agent', name: 'a', run: () => '' }, { from: 'b' }))
    makeWorkflow((flow) =>
      flow.branch(
        'a',
        // @ts-expect-error there is no branch "maybe"
        () => 'maybe',
        (inner) => ({ yes: inner, no: inner })
      )
    )
    makeWorkflow((flow) =>
      // @ts-expect-error a round gives something else than it takes
      flow.step('a', () => 1).loop('b', (inner) => inner.step('c', () => 'x'), { until: () => true })
    )
    // @ts-expect-error `until` is needed
    makeWorkflow((flow) => flow.loop('b', (inner) => inner, {}))
  }
  same<
    Parameters<Extract<WorkflowOptions['steps'], (...args: never) => unknown>>[0],
    Flow<MessageInput, object, MessageInput>
  >()
  t.type(never, 'function')
  t.end()
})
