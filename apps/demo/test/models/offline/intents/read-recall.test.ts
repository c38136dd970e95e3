import t from 'tap'
import { readRecall } from '../../../../src/models/offline/intents/read-recall.ts'

t.test('questions about the conversation', async (t) => {
  const cases: [string, object][] = [
    ['What did I ask you before?', { type: 'recall-question', which: 'last' }],
    ['what did i just say', { type: 'recall-question', which: 'last' }],
    ['Can you tell me what I asked before?', { type: 'recall-question', which: 'last' }],
    ['What was my last question?', { type: 'recall-question', which: 'last' }],
    ['and what was my previous message?', { type: 'recall-question', which: 'last' }],
    ['Do you remember what I asked?', { type: 'recall-question', which: 'last' }],
    ['what was my first question?', { type: 'recall-question', which: 1 }],
    ['What did I ask first?', { type: 'recall-question', which: 1 }],
    ['what was my third question', { type: 'recall-question', which: 3 }],
    ['what was the 12th question I asked?', { type: 'recall-question', which: 12 }],
    ['what were my questions so far?', { type: 'recall-question', which: 'all' }],
    ['list my questions', { type: 'recall-question', which: 'all' }],
    ['summarize our conversation', { type: 'recall-question', which: 'all' }],
    ['what did we talk about?', { type: 'recall-question', which: 'all' }],
    ['How many questions did I ask?', { type: 'recall-question', which: 'count' }],
    ['what did you say about sessions?', { type: 'recall-topic', whose: 'answer', topic: 'sessions' }],
    ['What did I ask about runs?', { type: 'recall-topic', whose: 'question', topic: 'runs' }],
    ['did I ask you about tools?', { type: 'recall-topic', whose: 'question', topic: 'tools' }],
    ['what did you just say?', { type: 'recall-answer', which: 'last' }],
    ['what was your first answer?', { type: 'recall-answer', which: 'first' }],
    ['please repeat that', { type: 'recall-answer', which: 'last' }]
  ]
  for (const [text, intent] of cases) t.strictSame(readRecall(text), intent, text)
})

t.test('other questions are none', async (t) => {
  for (const text of [
    'what is a run?',
    'list all error codes',
    'what did you do',
    'how many runs are there?',
    'list my runs'
  ])
    t.equal(readRecall(text), undefined, text)
})
