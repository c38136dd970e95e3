import t from 'tap'
import { keepNotes, readNoteRequest } from '../../../src/models/offline/notes.ts'

t.test('reads what is wanted', async (t) => {
  const add = (text: string) => ({ toolName: 'add_note', args: { text } })
  const remove = (id: string) => ({ toolName: 'delete_note', args: { id } })
  const list = { toolName: 'list_notes', args: {} }
  const cases = {
    'note: buy milk': add('buy milk'),
    'Please note that Ada calls at 5': add('Ada calls at 5'),
    'delete note 3': remove('3'),
    'Remind me that the rent is due': add('the rent is due'),
    'note: two\nlines': add('two\nlines'),
    'Delete the note #12, please': remove('12'),
    'list my notes': list,
    'what notes do I have?': list,
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
    return keepNotes({
      earlier: [],
      message: 'delete note 1',
      instructions: '',
      situation: '',
      outcomes: [{ ...call, ...outcome }]
    })
  }
  t.match(answer({ result: { id: '1', deleted: true } }), { answer: /gone/ })
  t.match(answer({ result: { id: '1', deleted: false } }), { answer: /no note 1/ })
  t.match(answer({ error: 'not today' }), { answer: /not today/ })
  const hello = { earlier: [], message: 'Hello', outcomes: [], instructions: '', situation: '' }
  t.match(keepNotes(hello), { answer: /list my notes/ })
})
