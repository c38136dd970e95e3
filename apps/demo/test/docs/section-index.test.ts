import t from 'tap'
import { loadSections, parseSections, withAddress } from '../../src/docs/sections.ts'
import { createSectionIndex } from '../../src/docs/section-index.ts'

const sections = parseSections(
  'docs/x.md',
  `# Runs
## Cancel a run
POST to \`/cancel\`. The model call is aborted.
## Resume a stream
Send \`Last-Event-ID\`.
## Storage
SQLite keeps everything that was written.
`
)
const index = createSectionIndex(sections)
const best = (query: string) => index.search(query, 3).found[0]

t.test('sections are found by their words, their stems, synonyms and with typing errors', async (t) => {
  for (const query of ['cancel', 'How do I cancel runs?', 'canceling', 'abort a run', 'cancle'])
    t.equal(best(query)?.section.heading, 'Cancel a run', query)
  t.equal(best('database')?.section.heading, 'Storage')
  t.equal(best('last event id')?.section.heading, 'Resume a stream')
  t.equal(index.get('docs/x.md#storage')?.heading, 'Storage')
  t.equal(index.get('docs/x.md#gone'), undefined)
})

t.test('coverage tells an answer from a chance hit, and unknown words are named', async (t) => {
  t.equal(best('cancel')?.coverage, 1)
  const { found, unknown } = index.search('bake bread in a stream', 3)
  t.strictSame(unknown, ['bake', 'bread'])
  t.ok((found[0]?.coverage ?? 0) < 0.5)
})

t.test('names in a program are not what a section is about', async (t) => {
  const [section] = parseSections('docs/x.md', '# Approval\n\nA human decides.\n\n```ts\nrefund()\n```\n')
  const index = createSectionIndex([section!])
  t.match(index.search('refund', 3), { found: [], unknown: ['refund'] })
  t.match(index.get('docs/x.md#approval')?.text, /refund/, 'but it is quoted with them')
})

t.test('what has no words finds nothing', async (t) => {
  t.strictSame(index.search('what is it', 3), { found: [], unknown: [] })
  t.strictSame(createSectionIndex([]).search('cancel', 3), { found: [], unknown: ['cancel'] })
})

t.test('documents are read from a folder, each once', async (t) => {
  const root = t.testdir({
    'README.md': '# One\n\ntext\n',
    docs: { 'a.md': '# A\n\na\n', 'b.txt': '# B\n\nb\n' }
  })
  const ids = loadSections(root, ['README.md', '*.md', 'docs/*.md']).map(({ id }) => id)
  t.strictSame(ids, ['README.md#one', 'docs/a.md#a'])
})

t.test('commands call the address of the service; code keeps its own port', async (t) => {
  const text =
    'curl http://127.0.0.1:3000/api\ncurl localhost:3000/api\nlisten({ port: 3000 }) localhost:30001'
  t.equal(
    withAddress(text, 'localhost:4000'),
    'curl http://localhost:4000/api\ncurl localhost:4000/api\nlisten({ port: 3000 }) localhost:30001'
  )
})
