import t from 'tap'
import type { Before } from '../../../../src/models/offline/intents/intent.ts'
import { readResult } from '../../../../src/models/offline/intents/read-result.ts'

const before: Before = {
  asked: [
    { text: '', turn: 0, intent: { type: 'calculate', expression: '1 + 1' } },
    { text: '', turn: 1, intent: { type: 'calculate', expression: '6 * 7' } },
    { text: '', turn: 2, intent: { type: 'small-talk', kind: 'thanks' } }
  ],
  readSections: []
}

t.test('the last calculation is made once more', async (t) => {
  for (const text of [
    'What was the result of my calculation?',
    'and what was the answer to that last calculation again?',
    "what's my last calculation",
    'What did I just calculate?',
    'what was the last result?'
  ])
    t.strictSame(readResult(text, before), { type: 'calculate', expression: '6 * 7' }, text)
})

t.test('where there was none, or something else is asked', async (t) => {
  const nothing = { asked: [], readSections: [] }
  t.match(readResult('What was the result of my calculation?', nothing), { type: 'recall-topic' })
  for (const text of ['What is the result of a run?', 'What is a calculation?', 'what was my question'])
    t.equal(readResult(text, before), undefined, text)
})
