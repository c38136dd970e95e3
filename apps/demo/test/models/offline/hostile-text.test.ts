import t from 'tap'
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts'

const LENGTH = 100_000
const CLASSES = [
  ...Array.from('9aA \t\u00a0\n.,?!()+-*/^%="\'`~_|<[#$€:;&@ß漢ア√👋🏽\u200d\ufe0f\u0301\ufdfa'),
  'and ',
  'one ',
  'the ',
  '1 + ',
  '1,',
  '1e1',
  '(1',
  'a-',
  'a\n',
  '. a',
  '? A ',
  'x 9 ',
  '9 is what % of '
]
const LEADS = ['', 'what is ', 'x', 'time in ', 'my name is', 'ignore ', 'difference between ', '1+']
const MIXED = ['9', 'a', ' ', '\t', '.', '?', '(', ')', '+', '-', ',', '\n', '1 and ', '漢']

const model = createOfflineModel({ delay: 0 })
const fill = (unit: string) => unit.repeat(Math.ceil(LENGTH / unit.length))

async function timeOf(text: string): Promise<number> {
  const begin = process.cpuUsage()
  await model.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text }] }] })
  const { user, system } = process.cpuUsage(begin)
  return (user + system) / 1_000
}

// Work is measured in ordinary text of the same length: quadratic patterns took some thousand times as long.
const prose = 'How do I cancel a run that takes too long, and what is 2 + 3? '.repeat(LENGTH / 60)
await timeOf(prose)
const most = Math.max(await timeOf(prose), 10) * 30

async function check(t: { fail(why: string): unknown }, text: string): Promise<void> {
  // A collection of garbage may fall into one of them.
  if ((await timeOf(text)) < most || (await timeOf(text)) < most) return
  t.fail(
    `${JSON.stringify(`${text.slice(0, 24)}…${text.slice(-2)}`)} takes more than ${most} ms of the processor`
  )
}

t.test('one character or word, over and over', async (t) => {
  for (const unit of CLASSES)
    for (const lead of LEADS) {
      await check(t, `${lead}${fill(unit)}`)
      await check(t, `${lead}${unit.repeat(20_000 / unit.length - 20)}x`)
    }
  t.pass(`none of ${CLASSES.length * LEADS.length * 2} takes long`)
})

t.test('two of them, in turns and one after the other', async (t) => {
  for (const a of MIXED)
    for (const b of MIXED) {
      await check(t, fill(a + b))
      await check(t, a.repeat(9_000 / a.length) + b.repeat(9_000 / b.length))
    }
  t.pass(`none of ${MIXED.length ** 2 * 2} takes long`)
})

t.test('a conversation full of them', async (t) => {
  const hostile = LEADS.map((lead) => lead + '9'.repeat(20_000))
  const prompt = hostile.map((text) => ({
    role: 'user' as const,
    content: [{ type: 'text' as const, text }]
  }))
  const begin = process.cpuUsage()
  await model.doStream({ prompt })
  t.ok(process.cpuUsage(begin).user / 1_000 < most * LEADS.length)
})
