import t from 'tap'
import type { Before } from '../../../../src/models/offline/intents/intent.ts'
import { readDocuments } from '../../../../src/models/offline/intents/read-documents.ts'

const nothing: Before = { asked: [], readSections: [] }
const after: Before = {
  asked: [{ text: '', turn: 0, intent: { type: 'documents', query: 'cancel run', more: false, known: [] } }],
  readSections: ['docs/runs.md#cancel']
}
const documents = (query: string, more = false, known: string[] = []) => ({
  type: 'documents',
  query,
  more,
  known
})

t.test('the words that matter are looked up', async (t) => {
  t.strictSame(readDocuments('How do I resume a stream?', nothing), documents('resume stream'))
  t.strictSame(readDocuments('cancel a run', nothing), documents('cancel run'))
  t.strictSame(readDocuments('what is this?', nothing), documents('what is this service'))
})

t.test('follow-ups need what they follow', async (t) => {
  t.strictSame(readDocuments('how do I resume it?', after), documents('resume cancel run'))
  t.strictSame(readDocuments('and for workflows?', after), documents('workflows cancel run'))
  t.strictSame(
    readDocuments('tell me more about that', after),
    documents('cancel run', true, ['docs/runs.md#cancel'])
  )
  t.strictSame(readDocuments('is it fast?', after), documents('fast'))
  t.strictSame(readDocuments('what about sessions?', after), documents('sessions'))
  t.strictSame(readDocuments('tell me more', nothing), { type: 'empty' })
})

t.test('what asks nothing, or not in English', async (t) => {
  t.strictSame(readDocuments('I have an agent.', nothing), { type: 'statement', query: 'agent' })
  t.match(readDocuments('Wie kann ich einen Stream fortsetzen?', nothing), {
    type: 'foreign',
    language: 'de'
  })
  t.strictSame(readDocuments('why?', after), { type: 'unclear' })
  t.strictSame(readDocuments('what is it?', { ...nothing }).type, 'documents')
  t.strictSame(readDocuments('a', nothing), { type: 'empty' })
})

t.test('a query is bounded', async (t) => {
  const words = Array.from({ length: 5_000 }, (_, n) => `word${n}`).join(' ')
  const intent = readDocuments(`${words}?`, nothing)
  t.ok(intent.type === 'documents' && intent.query.length <= 300)
})
