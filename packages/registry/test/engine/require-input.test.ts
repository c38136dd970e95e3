import { Type } from '@sinclair/typebox'
import t from 'tap'
import { requireInput } from '../../src/engine/prepare-start.ts'

const image = { type: 'image', mimeType: 'image/png' }

/** The errors of an invalid message. */
function faultsOf(input: unknown): { path: string; message: string }[] {
  try {
    requireInput({ inputSchema: undefined }, input)
    return []
  } catch (err) {
    const { code, errors } = err as { code: string; errors: { path: string; message: string }[] }
    if (code !== 'RUN_ERR_BAD_INPUT') throw err
    return errors
  }
}
const pathsOf = (input: unknown) => faultsOf(input).map(({ path }) => path)

t.test('valid messages', async (t) => {
  const good = [
    'a',
    ' a\n',
    [{ type: 'text', text: 'a' }],
    [
      { type: 'text', text: '' },
      { ...image, data: 'aGk=' }
    ],
    [{ ...image, data: 'aGk' }],
    [{ ...image, data: '' }],
    [{ ...image, mimeType: 'audio/L16; rate=16000; x="a b"', data: 'AAAA' }],
    [{ ...image, data: 'A'.repeat(20_000_000) }],
    [{ type: 'file', mimeType: 'application/vnd.a+json', url: 'https://example.org' }]
  ]
  for (const input of good) t.strictSame(faultsOf(input), [], JSON.stringify(input).slice(0, 60))
})

t.test('a blank message is refused', async (t) => {
  const blank = [
    '',
    ' ',
    '\n\t ',
    '\u00a0\u2028\ufeff',
    [],
    [
      { type: 'text', text: ' ' },
      { type: 'text', text: '' }
    ]
  ]
  for (const [index, input] of blank.entries()) t.strictSame(pathsOf(input), ['input'], String(index))
})

t.test('errors name the part and the field', async (t) => {
  const text = { type: 'text', text: 'a' }
  const bad: [part: unknown, path: string][] = [
    [{ ...image, data: 'a b' }, '/data'],
    [{ ...image, data: '==' }, '/data'],
    [{ ...image, data: 'AAAAA' }, '/data'],
    [{ ...image, data: 'data:image/png;base64,AAAA' }, '/data'],
    [{ ...image, data: '_-8=' }, '/data'],
    [{ ...image, data: 'AA=A' }, '/data'],
    [{ ...image, data: 5 }, '/data'],
    [{ ...image, data: `${'A'.repeat(20_000_000)}!` }, '/data'],
    [{ ...image, mimeType: 'png', data: 'AAAA' }, '/mimeType'],
    [{ ...image, mimeType: 'image/', data: 'AAAA' }, '/mimeType'],
    [{ ...image, mimeType: 'image/*', data: 'AAAA' }, '/mimeType'],
    [{ ...image, mimeType: '', data: 'AAAA' }, '/mimeType'],
    [{ ...image, mimeType: 'image/png\r\nx: y', data: 'AAAA' }, '/mimeType'],
    [{ ...image, mimeType: 'x/y'.padEnd(300, 'y'), data: 'AAAA' }, '/mimeType'],
    [{ ...image, url: '' }, '/url'],
    [{ ...text, more: 1 }, '/more'],
    [{ type: 'text' }, '/text'],
    [{ ...image }, ''],
    [{ type: 'video', data: 'AAAA' }, ''],
    ['a', ''],
    [null, '']
  ]
  for (const [part, path] of bad)
    t.strictSame(pathsOf([text, part]), [`input/1${path}`], JSON.stringify(part)?.slice(0, 60))
  t.strictSame(pathsOf([{ ...image, mimeType: 'x', data: '!' }, text, 'a']), [
    'input/0/mimeType',
    'input/0/data',
    'input/2'
  ])
})

t.test('errors are bounded', async (t) => {
  t.equal(faultsOf(Array.from({ length: 1_000 }, () => 'a')).length, 20)
  const [fault] = faultsOf([{ type: 'text', text: 'a', ['k'.repeat(5_000)]: 1 }])
  t.ok((fault?.path.length ?? 999) < 300)
  const inputSchema = Type.Object({ a: Type.Integer() }, { additionalProperties: false })
  const many = Object.fromEntries(Array.from({ length: 99 }, (_, i) => [`${'k'.repeat(999)}${i}`, 1]))
  try {
    requireInput({ inputSchema }, many)
    t.fail()
  } catch (err) {
    const { errors } = err as { errors: { path: string }[] }
    t.equal(errors.length, 20)
    for (const { path } of errors) t.ok(path.length < 300)
  }
})
