import type { NumberedPart } from '@svc/contract'
import t from 'tap'
import { survive, validParts } from '../helpers/crashing.ts'
import { faultsIn, listener, look, make } from '../helpers/listener.ts'

const CALLS = 24
const tools = [look(3_000)]
const compactionsIn = (parts: readonly NumberedPart[]) =>
  parts.flatMap((part) =>
    part.type === 'compaction'
      ? [{ index: part.index, text: part.text, keeps: part.keeps, cut: part.cut }]
      : []
  )
// The model numbers its calls, those that a crash interrupts too.
const withoutIds = (value: unknown) => JSON.stringify(value).replaceAll(/call-\d+-\d+/g, 'call')

async function runWith(lifetimes: readonly number[]) {
  const { model, prompts, summaries } = listener({ window: 8_000 })
  const agent = () =>
    make(model, { tools, history: { window: 8_000, compact: { keep: 6, maxSummary: 256 } } })
  const survived = await survive(agent, lifetimes, { input: `CALLS-${CALLS}`, options: { sessionId: 's' } })
  const { sessions } = survived.stores
  const key = { registry: 'global', owner: 'anonymous', kind: 'agent', name: 'a', sessionId: 's' } as const
  return { ...survived, prompts, summaries, saved: await sessions.load(key, 1_000) }
}

const whole = await runWith([])
const expected = compactionsIn(whole.parts)

t.test('without a crash', async (t) => {
  t.equal(whole.status, 'completed')
  t.ok(expected.length >= 2, `${expected.length} compactions`)
  t.strictSame(whole.prompts.flatMap(faultsIn), [])
  t.equal(whole.summaries.length, expected.length, 'a summary is one call')
  t.equal(whole.saved.filter(({ role }) => role === 'summary').length, expected.length)
})

for (let at = 1; at < whole.appends; at += 3)
  t.test(`the process dies at append ${at + 1}`, async (t) => {
    const run = await runWith([at])
    t.equal(run.status, 'completed')
    t.equal(run.result?.text, 'Noted.')
    t.strictSame(run.prompts.flatMap(faultsIn), [])
    t.strictSame(compactionsIn(validParts(run.parts)), expected, 'each compaction is in the log once')
    t.ok(run.summaries.length <= whole.summaries.length + 1, 'only one under way is made again')
    t.equal(withoutIds(run.prompts.at(-1)), withoutIds(whole.prompts.at(-1)), 'the last prompt is the same')
    t.equal(withoutIds(run.saved), withoutIds(whole.saved), 'and so is the session')
  })
