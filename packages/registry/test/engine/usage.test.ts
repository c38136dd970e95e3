import { addUsage, ZERO_USAGE, type Usage } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import * as fc from 'fast-check'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const usageOf = (tokens: number, optional: Partial<Usage> = {}): Usage => ({
  promptTokens: tokens,
  completionTokens: tokens,
  totalTokens: 2 * tokens,
  ...optional
})

const count = fc.nat({ max: 1_000_000 })
const usage: fc.Arbitrary<Usage> = fc.record(
  {
    promptTokens: count,
    completionTokens: count,
    totalTokens: count,
    cachedPromptTokens: count,
    cacheWriteTokens: count,
    reasoningTokens: count
  },
  { requiredKeys: ['promptTokens', 'completionTokens', 'totalTokens'] }
)

t.test('a sum does not depend on the order, and has only the fields that some usage has', async (t) => {
  fc.assert(
    fc.property(fc.array(usage), (usages) => {
      const sum = usages.reduce(addUsage, ZERO_USAGE)
      t.strictSame(usages.reduceRight(addUsage, ZERO_USAGE), sum)
      for (const field of Object.keys(usageOf(0, { cachedPromptTokens: 0, reasoningTokens: 0 })))
        t.equal(
          sum[field as keyof Usage],
          usages.some((each) => field in each)
            ? usages.reduce((total, each) => total + (each[field as keyof Usage] ?? 0), 0)
            : ZERO_USAGE[field as keyof Usage]
        )
    }),
    { numRuns: 50 }
  )
})

t.test('the optional tokens of steps, members and a finish reach the result', async (t) => {
  const engine = buildEngine(t)
  const step = (index: number, each: Usage, source?: string[]) =>
    ({ type: 'step', index, usage: each, ...(source && { source }) }) as const
  const summed = await engine.start(
    scriptedRunnable([
      step(0, usageOf(1, { cachedPromptTokens: 1 })),
      step(1, usageOf(1)),
      step(0, usageOf(1, { cachedPromptTokens: 2, reasoningTokens: 4 }), ['m'])
    ]),
    'x'
  )
  const sum = usageOf(3, { cachedPromptTokens: 3, reasoningTokens: 4 })
  t.strictSame((await summed.result()).usage, sum)
  t.match((await partsOf(summed)).at(-1), { type: 'finish', usage: sum })

  const own = usageOf(9, { cacheWriteTokens: 5 })
  const given = await engine.start(
    scriptedRunnable([{ type: 'finish', finishReason: 'stop', usage: { ...own, more: 1 } as Usage }]),
    'x'
  )
  t.strictSame((await given.result()).usage, own, 'a finish has no other fields')
})
