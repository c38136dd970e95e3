import { defineRunnable } from '@svc/registry'
import { type Runnable, type YieldedPart } from '@svc/contract'
import { runnableContract, scriptedRunnable, type ContractTest } from '@svc/testing'
import t from 'tap'

t.test('a scripted runnable', async (t) =>
  runnableContract(
    t,
    () =>
      scriptedRunnable([
        { type: 'step.start', index: 0, attempt: 1 },
        { type: 'tool.call', toolCallId: 'c', toolName: 't', args: {} },
        0,
        { type: 'tool.result', toolCallId: 'c', toolName: 't', result: 1, durationMs: 2 },
        { type: 'step', index: 0, usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } },
        { type: 'structured', value: [1] },
        { type: 'text', text: 'a' }
      ]),
    { secrets: ['sesame'], makeHanging: () => scriptedRunnable([{ type: 'text', text: 'a' }, 60_000]) }
  )
)

t.test('a runnable with only `run`', async (t) =>
  runnableContract(t, () =>
    defineRunnable({ kind: 'team', name: 'echo', run: async (input) => `You said ${String(input)}` })
  )
)

/** The names of the rules that a runnable breaks. */
async function brokenRules(make: () => Runnable, secrets: string[] = []): Promise<string[]> {
  const broken = new Set<string>()
  let rules: Promise<unknown> = Promise.resolve()
  const recorder = (rule: string): ContractTest => {
    const record = (holds: unknown) => void (holds || broken.add(rule))
    return {
      test(name, _options, run) {
        const child = recorder(name) as never
        rules = rules.then(() => run(child)).catch(() => broken.add(name))
      },
      equal: (found, wanted) => record(Object.is(found, wanted)),
      same: (found, wanted) => record(JSON.stringify(found) === JSON.stringify(wanted)),
      ok: record
    }
  }
  runnableContract(recorder('all'), make, { secrets, guard: 50 })
  await rules
  return [...broken]
}

const streaming = (more: object, ...parts: unknown[]): Runnable =>
  Object.assign(scriptedRunnable(parts as YieldedPart[]), more)

t.test('the contract names the rules a runnable breaks', async (t) => {
  const shared: string[] = []
  const cases: Record<string, [() => Runnable, RegExp]> = {
    'a bad name': [() => streaming({ name: 'a/b' }), /constant kind and name/],
    'a name that changes': [
      () => {
        const runnable = scriptedRunnable([() => Object.assign(runnable, { name: 'other' })])
        return runnable
      },
      /constant kind and name/
    ],
    'another kind in its description': [
      () => streaming({ describe: () => ({ kind: 'team', name: 'scripted' }) }),
      /describes itself/
    ],
    'a secret in its description': [
      () => scriptedRunnable([], { description: 'sesame' }),
      /describes itself/
    ],
    'a secret in a part': [() => streaming({}, { type: 'text', text: 'open sesame' }), /yields parts/],
    'no part': [() => streaming({}, { type: 'text', text: 5 }), /yields parts/],
    'a part after the end': [
      () => streaming({}, { type: 'finish', finishReason: 'stop' }, { type: 'text', text: 'a' }),
      /nothing after its end/
    ],
    'a run with another answer than its stream': [
      () => ({
        kind: 'agent',
        name: 'two-faced',
        describe: () => ({ kind: 'agent', name: 'two-faced' }),
        stream: (...args) => scriptedRunnable([{ type: 'text', text: 'a' }]).stream(...args),
        run: (...args) => scriptedRunnable([{ type: 'text', text: 'b' }]).run(...args)
      }),
      /run returns/
    ],
    'runs that mix': [
      () =>
        defineRunnable({
          kind: 'agent',
          name: 'mixed',
          async run(input) {
            shared.push(String(input))
            await new Promise((resolve) => setImmediate(resolve))
            return shared.splice(0).join()
          }
        }),
      /do not mix/
    ],
    'a runnable that ignores its signal': [
      () =>
        defineRunnable({
          kind: 'agent',
          name: 'stubborn',
          run: () => new Promise((resolve) => setTimeout(resolve, 300, ''))
        }),
      /signal aborts/
    ]
  }
  for (const [what, [make, rule]] of Object.entries(cases))
    t.match((await brokenRules(make, ['sesame'])).join('; '), rule, what)
  t.strictSame(await brokenRules(() => scriptedRunnable([{ type: 'text', text: 'a' }])), [])
})
