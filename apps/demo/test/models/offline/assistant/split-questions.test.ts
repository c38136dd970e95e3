import t from 'tap'
import {
  looksLikeQuestion,
  MAX_MESSAGE,
  splitQuestions
} from '../../../../src/models/offline/assistant/split-questions.ts'

const cases: [string, string[]][] = [
  ['What is a run?', ['What is a run?']],
  ['What is a run? How do I cancel it?', ['What is a run?', 'How do I cancel it?']],
  ['what is 2+2 and what time is it in Tokyo?', ['what is 2+2', 'what time is it in Tokyo?']],
  ['who are you, what can you do', ['who are you', 'what can you do']],
  ['12 * 3, and what is a run?', ['12 * 3', 'what is a run?']],
  ['How do I start and stop the demo?', ['How do I start and stop the demo?']],
  ['If a run fails, what can I do?', ['If a run fails, what can I do?']],
  ['1. What is a run?\n2) what is seq\n- 3 + 4', ['What is a run?', 'what is seq', '3 + 4']],
  ['1) What is a run? 2) What is seq?', ['What is a run?', 'What is seq?']],
  ['Is 12.5 * 2 = 25? See docs/runs.md.', ['Is 12.5 * 2 = 25?', 'See docs/runs.md.']],
  ['```js\nwhat()?\n```\nWhy?', ['Why?']],
  ['```\nonly code', []],
  ['  \n\t ', []],
  ['東京は何時ですか？', ['東京は何時ですか?']],
  ['a\u0000b\u200b?', ['a b ?']]
]

t.test('a message is split into its questions', async (t) => {
  for (const [message, pieces] of cases) t.strictSame(splitQuestions(message), pieces, message)
})

t.test('a wrapped line is one', async (t) => {
  const wrapped = 'How can I make sure that an answer that was broken off\nis read to its end?'
  t.strictSame(splitQuestions(wrapped), [wrapped.replace('\n', ' ')])
})

t.test('a message beyond the bound is cut, quickly', async (t) => {
  const before = performance.now()
  const pieces = splitQuestions('what and is, how '.repeat(100_000))
  t.ok(pieces.join('').length <= MAX_MESSAGE)
  splitQuestions('?'.repeat(100_000))
  splitQuestions('- '.repeat(50_000))
  t.ok(performance.now() - before < 2_000)
})

t.test('questions and statements', async (t) => {
  for (const text of ['what is it', 'Tell me more', 'and how?', 'run?', 'please explain runs'])
    t.ok(looksLikeQuestion(text), text)
  for (const text of ['I have an agent', 'run', 'whatever']) t.notOk(looksLikeQuestion(text), text)
})
