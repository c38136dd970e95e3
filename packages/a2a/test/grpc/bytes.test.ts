import t from 'tap'
import { decodeMessage, encodeMessage, messageOf } from '../../src/grpc/messages.ts'

const typeOf = (name: string) => messageOf(`lf.a2a.v1.${name}`)
const LEVELS = 64
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const decode = (type: string, bytes: string | Buffer, levels = LEVELS) =>
  decodeMessage(typeOf(type), typeof bytes === 'string' ? hex(bytes) : bytes, levels)
const encode = (type: string, json: object) => encodeMessage(typeOf(type), json)

t.test('unknown fields are skipped, of every wire type', async (t) => {
  const known = '0a 01 61'
  const unknown = [
    'f8 3f 01', // a varint
    'f9 3f 01 02 03 04 05 06 07 08', // 64 bits
    'fa 3f 02 01 02', // bytes
    'fb 3f 08 01 fc 3f', // a group
    'fd 3f 01 02 03 04' // 32 bits
  ]
  for (const field of unknown)
    t.same(decode('StringList', `${field} ${known} ${field}`), { list: ['a'] }, field)
})

t.test('of a oneof the last member counts; a message in pieces is merged', async (t) => {
  t.same(decode('Part', '0a 01 61 1a 01 62'), { url: 'b' })
  t.same(decode('Part', '1a 01 62 0a 01 61 3a 01 78'), { text: 'a', mediaType: 'x' })
  t.same(decode('SendMessageRequest', '12 03 0a 01 61 12 03 12 01 62'), {
    message: { messageId: 'a', contextId: 'b' }
  })
})

t.test('bytes that are no message are refused, with the reason', async (t) => {
  const cases: [why: RegExp, type: string, bytes: string][] = [
    [/ends early|parsed/, 'Task', '0a 05 61'],
    [/ends early|parsed/, 'Task', '1a ff ff ff ff 0f'],
    [/parsed/, 'Task', '00 01'],
    [/parsed/, 'Task', '0f'],
    [/parsed/, 'Part', '22 00'],
    [/parsed/, 'Task', '0c'],
    [/parsed/, 'Task', '80 80 80 80 80 80 80 80 80 80 80 80'],
    [/not UTF-8/, 'Task', '0a 01 ff'],
    [/not UTF-8/, 'Task', '0a 03 ed a0 80'],
    [/not UTF-8/, 'Task', `0a 28 ${'61'.repeat(39)} ff`],
    [/time/, 'TaskStatus', '1a 0a 08 ff ff ff ff ff ff ff ff 7f'],
    [/time/, 'TaskStatus', '1a 06 10 80 94 eb dc 03'],
    [/not finite/, 'Part', '22 09 11 00 00 00 00 00 00 f0 7f'],
    [/forbidden key/, 'Task', '32 0d 0a 0b 0a 09 5f 5f 70 72 6f 74 6f 5f 5f']
  ]
  for (const [why, type, bytes] of cases) t.throws(() => decode(type, bytes), { message: why }, bytes)
})

t.test('nesting is limited, as deep as a stack can be', async (t) => {
  const nested = (levels: number) => {
    let value: unknown = 1
    for (let level = 0; level < levels; level++) value = [value]
    return encode('Part', { data: value })
  }
  t.same(JSON.stringify(decode('Part', nested(60))).length, '{"data":1}'.length + 120)
  t.throws(() => decode('Part', nested(64)), { message: /too deep/ })
  t.throws(() => decode('Part', nested(900), 100_000_000) && decode('Part', endless(200_000), 100_000_000), {
    message: /too deep/
  })
})

/** A Value of lists in lists, each with a length that claims the rest. */
function endless(levels: number): Buffer {
  const lengths: number[] = [0]
  for (let level = 1; level < levels; level++)
    lengths.push(lengths[level - 1]! + 2 * (1 + sizeOf(lengths[level - 1]!)))
  const pieces: number[] = []
  const put = (tag: number, length: number) => {
    pieces.push(tag)
    for (; length > 127; length >>>= 7) pieces.push((length & 127) | 128)
    pieces.push(length)
  }
  const all = lengths.toReversed()
  put(0x22, all[0]!)
  for (const length of all.slice(1)) {
    put(0x32, length + 1 + sizeOf(length))
    put(0x0a, length)
  }
  return Buffer.from(pieces)
}

function sizeOf(length: number): number {
  return length < 128 ? 1 : 1 + sizeOf(length >>> 7)
}

t.test('what JSON does not have is written as JSON.stringify does', async (t) => {
  const data = { a: undefined, b: [undefined, Number.NaN, new Date(0)], c: { toJSON: () => 'x' }, d: () => 1 }
  t.same(decode('Part', encode('Part', { data })), { data: JSON.parse(JSON.stringify(data)) })
  t.same(decode('Part', encode('Part', { data: null })), { data: null })
})

t.test('texts of every length, numbers of unknown enums, times', async (t) => {
  t.same(decode('Part', encode('Part', { text: String.raw`\ud800` + 'a\ud800' })), {
    text: String.raw`\ud800` + 'a\uFFFD'
  })
  for (const text of ['', 'ä'.repeat(31), 'a'.repeat(127), '€'.repeat(70_000), '\uFEFFa', '\u0000'])
    t.same(decode('Part', encode('Part', { text })), { text })
  t.same(decode('Message', '20 63'), { role: 99 })
  for (const timestamp of ['1969-12-31T23:59:59.001Z', '2026-01-02T03:04:05Z', '9999-12-31T23:59:59.999Z'])
    t.same(decode('TaskStatus', encode('TaskStatus', { timestamp })), { timestamp })
  t.same(decode('TaskStatus', '1a 02 10 01'), { timestamp: '1970-01-01T00:00:00.000000001Z' })
})
