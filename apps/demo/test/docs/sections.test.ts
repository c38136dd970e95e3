import t from 'tap'
import { parseSections } from '../../src/docs/sections.ts'

const MARKDOWN = `Before any heading.

# The \`title\`

Intro.

## A [link](x.md) & more

\`\`\`sh
# no heading
\`\`\`

### Empty

### Deep

deep

## A [link](x.md) & more

again
`

t.test('a document is cut at its headings', async (t) => {
  const sections = parseSections('docs/x.md', MARKDOWN)
  t.strictSame(
    sections.map(({ id, heading, parents, text }) => [id, heading, parents, text]),
    [
      ['docs/x.md', 'docs/x.md', [], 'Before any heading.'],
      ['docs/x.md#the-title', 'The title', [], 'Intro.'],
      ['docs/x.md#a-link--more', 'A link & more', ['The title'], '```sh\n# no heading\n```'],
      ['docs/x.md#deep', 'Deep', ['The title', 'A link & more'], 'deep'],
      ['docs/x.md#a-link--more-1', 'A link & more', ['The title'], 'again']
    ]
  )
})

t.test('an empty document has no sections', async (t) => {
  t.strictSame(parseSections('x.md', '\n# Only a heading\n'), [])
})

t.test('pictures are left out', async (t) => {
  const picture = '<picture><img src="a.webp" alt="A view"></picture>'
  const sections = parseSections(
    'a.md',
    `# A\n\nText.\n\n${picture}\n\n## B\n\n| x |\n|---|\n| ${picture} |\n`
  )
  t.strictSame(
    sections.map(({ heading, text }) => [heading, text]),
    [['A', 'Text.']]
  )
})
