import t from 'tap'
import { TestLog } from '../tools/tests/test-log.ts'

/** What is printed of the TAP of a process. */
function report(...lines: string[]) {
  const printed: string[] = []
  const log = new TestLog((line) => printed.push(line))
  log.createParser().parser.end(['TAP version 14', ...lines, ''].join('\n'))
  log.end()
  return { printed, last: printed.at(-1) }
}

const file = (name: string, lines: string[], end: string) => [
  `# Subtest: ${name}`,
  ...lines.map((line) => `    ${line}`),
  end
]
const passing = file(
  'a.test.ts',
  ['ok 1 - x', 'ok 2 - y # SKIP not here', '1..2'],
  'ok 1 - a.test.ts # time=12ms'
)

t.test('prints one line per passing file, and the totals last', async (t) => {
  const { printed } = report(...passing, '1..1')
  t.strictSame(printed, [
    'ok     a.test.ts  1 passed, 0 failed, 1 skipped (12 ms)',
    '1 passed, 0 failed, 1 skipped'
  ])
})

t.test('a failure has its path, location and difference', async (t) => {
  const group = file(
    'group',
    [
      'not ok 1 - same',
      '  ---',
      '  diff: |',
      '    -1',
      '    +2',
      '  at:',
      '    fileName: b.test.ts',
      '    lineNumber: 3',
      '    columnNumber: 5',
      '  source: long',
      '  ...',
      '1..1'
    ],
    'not ok 1 - group'
  )
  const { printed } = report(
    ...passing,
    ...file('b.test.ts', ['said aloud', ...group, '1..1'], 'not ok 2 - b.test.ts # time=3ms'),
    '1..2'
  )
  t.strictSame(printed.slice(1), [
    'not ok b.test.ts > group > same',
    '    at b.test.ts:3:5',
    '    -1',
    '    +2',
    '    | said aloud',
    'FAILED b.test.ts  0 passed, 1 failed (3 ms)',
    '1 passed, 1 failed, 1 skipped'
  ])
})

t.test('a crash after passing tests is a failure', async (t) => {
  const end = [
    'not ok 1 - c.test.ts',
    '  ---',
    '  exitCode: null',
    '  signal: SIGSEGV',
    '  args: [x]',
    '  ...'
  ]
  const { printed } = report(...file('c.test.ts', ['ok 1 - x'], end.join('\n')), '1..1')
  t.strictSame(printed, [
    'not ok c.test.ts',
    '    signal: SIGSEGV',
    'FAILED c.test.ts  1 passed, 1 failed (0 ms)',
    '1 passed, 1 failed'
  ])
})

t.test('a time-out is a failure', async (t) => {
  const hung = file('d.test.ts', ['not ok 1 - timeout!', '1..1'], 'not ok 1 - d.test.ts')
  t.equal(report(...hung, '1..1').last, '0 passed, 1 failed')
})

t.test('a run that bails out, or in which nothing ran, is a failure', async (t) => {
  t.equal(report(...passing, 'Bail out! no disk').last, '1 passed, 1 failed, 1 skipped')
  t.equal(report().last, '0 passed, 1 failed')
})
