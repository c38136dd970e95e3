import { cases } from '@tools/wires/volume'
import { anything, assert, property } from 'fast-check'
import t from 'tap'
import { messageOf, toToolOutput } from '../../src/json/json.ts'

const cyclic: { self?: unknown } = {}
cyclic.self = cyclic
const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as unknown
const proxy = new Proxy(
  {},
  {
    ownKeys: () => {
      throw new Error('no keys')
    }
  }
)

t.test('a result is copied as plain data', async (t) => {
  const own = { list: [1, { at: new Date(0) }], none: undefined, odd: Number.NaN }
  const output = toToolOutput(own, 1_000)
  t.strictSame(output, { list: [1, { at: '1970-01-01T00:00:00.000Z' }], odd: null })
  own.list.push(2)
  t.equal((output as typeof own).list.length, 2)
  for (const value of ['text', '', 5, true, false, null]) t.equal(toToolOutput(value, 1_000), value)
  t.equal(toToolOutput(undefined, 10), null)
})

t.test('values that are not JSON', async (t) => {
  const bad = [
    cyclic,
    5n,
    { a: 5n },
    () => 1,
    Symbol('x'),
    new Map([[1, 2]]),
    new Set([1]),
    proxy,
    nested(200)
  ]
  bad.push(
    {
      toJSON: () => {
        throw new Error('no JSON')
      }
    },
    {
      get a() {
        throw new Error('get')
      }
    },
    { toJSON: () => undefined }
  )
  for (const value of bad) t.throws(() => toToolOutput(value, 1_000_000), { code: 'RUN_ERR_TOOL_BAD_OUTPUT' })
  t.throws(() => toToolOutput(nested(100_000), 1_000_000), { code: 'RUN_ERR_TOOL_BAD_OUTPUT' })
})

t.test('a value whose content JSON would drop is refused by name, at any depth', async (t) => {
  class OwnError extends TypeError {
    code = 'E1'
  }
  class Point {
    x = 1
  }
  const lost: [unknown, string][] = [
    [new Map([[1, 2]]), 'a Map'],
    [new Set([1]), 'a Set'],
    [new Error('x'), 'an Error'],
    [new OwnError('x'), 'an Error'],
    [new Response('x'), 'a Response'],
    [new Request('http://localhost'), 'a Request'],
    [new Headers({ a: 'b' }), 'a Headers'],
    [new URLSearchParams('a=b'), 'a URLSearchParams'],
    [new FormData(), 'a FormData'],
    [new Blob(['x']), 'a Blob'],
    [new ArrayBuffer(2), 'an ArrayBuffer'],
    [Promise.resolve(1), 'a Promise'],
    [/x/, 'a RegExp']
  ]
  const thrownBy = (value: unknown) => {
    try {
      return JSON.stringify(toToolOutput(value, 1_000))
    } catch (err) {
      return (err as Error).message
    }
  }
  for (const [value, name] of lost) {
    const end = '; return an object or an array'
    t.equal(thrownBy(value), `Bad result of the tool: it is ${name}${end}`)
    t.equal(
      thrownBy({ rows: [{ ok: 1 }, { tags: value }] }),
      `Bad result of the tool: its rows/1/tags is ${name}${end}`
    )
  }
  const kept = {
    date: new Date(0),
    url: new URL('http://localhost/'),
    bytes: Buffer.from('a'),
    point: new Point()
  }
  t.equal(thrownBy(kept), JSON.stringify(kept))
  t.equal(thrownBy([new Number(5), new String('x'), Object.create(null)]), '[5,"x",{}]')
  const twice: Record<string, unknown> = {}
  Object.assign(twice, { a: twice, b: twice })
  t.match(thrownBy(twice), /circular/)
})

t.test('halves of surrogate pairs are replaced, in keys too', async (t) => {
  t.equal(toToolOutput('a\ud83d', 100), 'a\ufffd')
  t.strictSame(toToolOutput({ list: [{ 'k\ud83d': '\ude00b' }], whole: '\u{1f600}' }, 200), {
    list: [{ 'k\ufffd': '\ufffdb' }],
    whole: '\u{1f600}'
  })
  t.strictSame(toToolOutput([String.raw`\ud83d`], 100), [String.raw`\ud83d`])
})

t.test('the error of an oversized result names its size', async (t) => {
  const message = /52428800 bytes, more than the 262144 allowed/
  t.throws(() => toToolOutput('x'.repeat(52_428_800), 262_144), {
    code: 'RUN_ERR_TOOL_OUTPUT_TOO_LARGE',
    message
  })
  t.throws(() => toToolOutput(['é'.repeat(50)], 100), { message: /104 bytes/ }, 'bytes, not characters')
  t.strictSame(toToolOutput(['é'.repeat(48)], 100), ['é'.repeat(48)])
})

t.test('any value gives JSON or one of the two errors', async () => {
  assert(
    property(
      anything({ withBigInt: true, withMap: true, withSet: true, withDate: true, withTypedArray: true }),
      (value) => {
        try {
          return JSON.stringify(toToolOutput(value, 10_000)) !== undefined
        } catch (err) {
          return /^RUN_ERR_TOOL_(?:BAD_OUTPUT|OUTPUT_TOO_LARGE)$/.test((err as { code: string }).code)
        }
      }
    ),
    { numRuns: cases(1_000) }
  )
})

t.test('the message of any thrown value', async (t) => {
  t.equal(messageOf(new Error('no such city'), 'other'), 'no such city')
  t.equal(messageOf('plain text', 'other'), 'plain text')
  t.equal(messageOf(new Error('x'.repeat(2_000)), 'other').length, 1_000)
  const hostile = [
    undefined,
    null,
    5,
    {},
    { message: 5 },
    new Error(''),
    {
      get message() {
        throw new Error('x')
      }
    }
  ]
  for (const thrown of hostile) t.equal(messageOf(thrown, 'other'), 'other')
  t.equal(messageOf(new Error('\ud800'), 'other'), '\ufffd')
})
