import { cases } from '@tools/wires/volume'
import * as fc from 'fast-check'
import t from 'tap'
import { boundaryOf, DelimiterCounter } from '../../src/uploads/read-parts.ts'

t.test('delimiters are counted however the body is chunked', async () => {
  const pieces = fc.array(fc.constantFrom('\r\n--ab', '\r\n--a', '\r', '\n', '--ab', 'x', '\r\n--', 'b'))
  fc.assert(
    fc.property(pieces, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (pieces, lengths) => {
      const body = Buffer.from(pieces.join(''))
      const counter = new DelimiterCounter('ab')
      for (let at = 0, turn = 0; at < body.length; turn++) {
        const end = at + (lengths[turn % lengths.length] ?? 1)
        counter.add(body.subarray(at, end))
        at = end
      }
      return counter.count === `\r\n${body.toString()}`.split('\r\n--ab').length - 1
    }),
    { numRuns: cases(1_000) }
  )
})

t.test('names of parts are read however the body is chunked', async (t) => {
  const part = (more: string) =>
    `\r\n--ab\r\nContent-Disposition: form-data; name="f"${more}\r\n\r\nfilename*=UTF-8''none`
  const body = Buffer.from(
    [
      part(''),
      part("; filename*=utf-8''a"),
      part(`; x="${'y'.repeat(9_000)}"`),
      part("; filename*=UTF-8''b")
    ].join('')
  )
  for (const length of [1, 2, 5, 64, body.length]) {
    const counter = new DelimiterCounter('ab')
    for (let at = 0; at < body.length; at += length) counter.add(body.subarray(at, at + length))
    const names = [0, 1, 2, 3].map((at) => counter.extendedNames.get(at))
    t.strictSame(names, [undefined, 'a', undefined, 'b'], `${length} bytes at once`)
  }
})

t.test('the boundary of a content type', async (t) => {
  t.equal(boundaryOf('multipart/form-data; boundary=abc'), 'abc')
  t.equal(boundaryOf('multipart/form-data;charset=utf-8;Boundary="a b;c"'), 'a b;c')
  for (const without of [undefined, '', 'multipart/form-data', 'multipart/form-data; boundary=']) {
    t.equal(boundaryOf(without), undefined)
  }
})
