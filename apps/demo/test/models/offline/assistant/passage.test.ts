import t from 'tap'
import { extractPassage } from '../../../../src/models/offline/assistant/passage.ts'

const CODES = `Some words before.

| code | status | when |
|---|---|---|
| \`RUN_ERR_NOT_FOUND\` | 404 | no such run |
| \`RUN_ERR_TERMINAL\` | 409 | the run has ended |
`

t.test('links lose their targets, lists and escaped pipes are read', async (t) => {
  const { text } = extractPassage('X', 'A [link](x.md)\nof two lines.\n\n- one\n  more\n- two', 'x')
  t.equal(text, 'A link of two lines.\n\n- one more\n- two')
  t.equal(extractPassage('X', '| a | b |\n|---|---|\n| `x\\|y` | 1 |', 'x').text, '- `x|y`: 1')
})

t.test('a short section is taken whole', async (t) => {
  const { text, score } = extractPassage('Cancel', 'POST to it.\n\n```sh\ncurl x\n```', 'cancel')
  t.equal(text, 'POST to it.\n\n```sh\ncurl x\n```')
  t.ok(score > 1)
})

t.test('a row stands for its table', async (t) => {
  const { text } = extractPassage('Errors', CODES, 'RUN_ERR_TERMINAL')
  t.equal(text, '- `RUN_ERR_TERMINAL`: status: 409; when: the run has ended')
})

t.test('a question for the section as a whole gets the whole table', async (t) => {
  const { text } = extractPassage('Errors', CODES, 'errors')
  t.match(text, /NOT_FOUND[\s\S]*TERMINAL/)
})

t.test('a section that defines what was asked for fits better', async (t) => {
  const defined = extractPassage('What is a run?', 'An execution.', 'run')
  const named = extractPassage('A run after a crash', 'It is a failed run.', 'run')
  t.ok(defined.score > named.score)
})

t.test('of a long section the best blocks are taken, with the line that leads to them', async (t) => {
  const filler = Array.from({ length: 8 }, (_, n) =>
    `Paragraph ${n} about nothing in particular. `.repeat(4)
  ).join('\n\n')
  const { text } = extractPassage(
    'Guide',
    `${filler}\n\nTo resume a stream:\n\n\`\`\`sh\ncurl -N\n\`\`\`\n`,
    'resume stream'
  )
  t.equal(text, 'To resume a stream:\n\n```sh\ncurl -N\n```')
})

t.test('a word of nearly every row does not choose among them', async (t) => {
  const rows = [
    '`npm test`: types, then every test',
    ...['build', 'lint', 'bench', 'docs'].map((name) => `\`npm run ${name}\`: runs it`)
  ]
  const table = `| command | does |\n|---|---|\n${rows.map((row) => `| ${row.replace(': ', ' | ')} |`).join('\n')}`
  t.equal(extractPassage('Commands', table, 'run tests').text, '- `npm test`: types, then every test')
})
