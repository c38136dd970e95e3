import t from 'tap'
import { answerNoteRequest, readNoteRequest } from '../../../src/models/offline/notes.ts'

t.test('reads what is wanted', async (t) => {
  const add = (text: string) => ({ toolName: 'add_note', args: { text } })
  const remove = (id: string) => ({ toolName: 'delete_note', args: { id } })
  const list = { toolName: 'list_notes', args: {} }
  const cases = {
    'note: buy milk': add('buy milk'),
    'Please note that Ada calls at 5': add('Ada calls at 5'),
    'add a note: two\nlines': add('two\nlines'),
    'delete note 3': remove('3'),
    'Forget the note #12, please': remove('12'),
    'write down: 3 eggs': add('3 eggs'),
    'Please remember to call Ada tomorrow': add('call Ada tomorrow'),
    'Remind me that the rent is due': add('the rent is due'),
    'take a note of the number 5': add('the number 5'),
    'Can you delete note 2?': remove('2'),
    'list my notes': list,
    'what notes do I have?': list,
    'how many notes are there': list,
    'Do I have any notes?': list,
    'Could you show me my notes?': list,
    'my notes': list,
    'What are my notes?': list,
    'what is the weather?': undefined,
    'delete everything': undefined,
    'do you remember me?': undefined,
    'What does a release note say?': undefined,
    '': undefined
  }
  for (const [message, call] of Object.entries(cases)) t.same(readNoteRequest(message), call, message)
})

t.test('takes no long time for a long message', async (t) => {
  for (const part of ['note', 'delete note ', ' ', 'list '])
    t.doesNotThrow(() => readNoteRequest(part.repeat(50_000)))
})

t.test('formats the outcome of its call', async (t) => {
  const answer = (outcome: object) => {
    const call = { toolName: 'delete_note', args: { id: '1' } }
    return answerNoteRequest({
      turns: [],
      message: 'delete note 1',
      files: 0,
      said: '',
      outcomes: [{ ...call, ...outcome }]
    })
  }
  t.match(answer({ result: { id: '1', deleted: true } }), { answer: /gone/ })
  t.match(answer({ result: { id: '1', deleted: false } }), { answer: /no note 1/ })
  t.match(answer({ error: 'not today' }), { answer: /not today/ })
  const hello = { turns: [], message: 'Hello', files: 0, outcomes: [], said: '' }
  t.match(answerNoteRequest(hello), { answer: /list my notes/ })
})
