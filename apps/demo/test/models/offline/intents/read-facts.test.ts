import t from 'tap'
import type { Before, Intent } from '../../../../src/models/offline/intents/intent.ts'
import { readAskedFact, readStatedFact } from '../../../../src/models/offline/intents/read-facts.ts'

const told = (...intents: Intent[]): Before => ({
  asked: intents.map((intent) => ({ text: '', turn: 0, intent })),
  readSections: []
})

t.test('what users tell of themselves', async (t) => {
  const cases: [string, string, string][] = [
    ['My name is Ada.', 'name', 'Ada'],
    ['hi, my name is Ada Lovelace!', 'name', 'Ada Lovelace'],
    ["I'm Ada", 'name', 'Ada'],
    ['call me Ada', 'name', 'Ada'],
    ['my favourite color is dark blue', 'favorite color', 'dark blue'],
    ['I live in Berlin', 'live in', 'Berlin'],
    ['Remember that the key is under the mat.', 'note', 'the key is under the mat']
  ]
  for (const [text, key, value] of cases)
    t.strictSame(readStatedFact(text), { type: 'state-fact', key, value }, text)
  for (const text of [
    'is my name Ada?',
    'I am lost',
    'I am trying to cancel a run',
    'my last question is bad',
    'a run'
  ])
    t.equal(readStatedFact(text), undefined, text)
})

t.test('questions for what was told', async (t) => {
  for (const text of ['what is my name?', 'who am I', 'Do you know my name?', "what's my name again?"])
    t.strictSame(readAskedFact(text, told()), { type: 'recall-fact', key: 'name' }, text)
  t.strictSame(readAskedFact('where do I live?', told()), { type: 'recall-fact', key: 'live in' })
  t.strictSame(readAskedFact('what do you know about me?', told()), { type: 'recall-fact', key: '*' })
})

t.test('"my" alone makes no question for a fact', async (t) => {
  t.equal(readAskedFact('what is my run?', told()), undefined)
  t.equal(readAskedFact('where is my data stored?', told()), undefined)
  const fact: Intent = { type: 'state-fact', key: 'run', value: 'fast' }
  t.strictSame(readAskedFact('what is my run?', told(fact)), { type: 'recall-fact', key: 'run' })
})
