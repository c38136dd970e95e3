import t from 'tap'
import { quote } from '../../../src/models/offline/documents.ts'

const FILLER = Array.from({ length: 20 }, (_, n) =>
  `Paragraph ${n} about nothing in particular. `.repeat(4).trim()
)
const CODES = `${FILLER.join('\n\n')}

| code | status | when |
|---|---|---|
| \`RUN_ERR_NOT_FOUND\` | 404 | no such run |
| \`RUN_ERR_TERMINAL\` | 409 | the run has ended |`

t.test('a short section is quoted as a whole', async (t) => {
  const section = 'POST to it.\n\n```sh\ncurl x\n```'
  t.equal(quote(section, 'How do I cancel?'), section)
})

t.test(
  'of a long section the paragraphs with most words of the question are quoted, in their order',
  async (t) => {
    const [first = '', ...rest] = FILLER
    const text = quote(
      [first, 'To resume a stream, send this:', ...rest, '```sh\ncurl stream\n```'].join('\n\n'),
      'How do I resume a stream?'
    )
    t.match(text, /To resume a stream, send this:\n\n[^]*```sh\ncurl stream\n```$/)
    t.ok(text.length <= 1_600)
  }
)

t.test('what names an identifier is quoted alone', async (t) => {
  t.equal(quote(CODES, 'What is RUN_ERR_TERMINAL?'), '| `RUN_ERR_TERMINAL` | 409 | the run has ended |')
})
