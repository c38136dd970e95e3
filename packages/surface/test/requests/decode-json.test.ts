import createError from '@fastify/error'
import { decodeJson } from '../../src/requests/strict-json.ts'
import * as fc from 'fast-check'
import t from 'tap'

const BadJson = createError<[string]>('TEST_ERR_BAD_JSON', '%s', 400)
const decode = (text: string | Uint8Array, depth = 64) =>
  decodeJson(Buffer.from(text as string), depth, BadJson)

t.test('agrees with JSON.parse for any JSON', async (t) => {
  const harmless = fc
    .jsonValue({ stringUnit: 'binary' })
    .filter((value) => !/__proto__|constructor/.test(JSON.stringify(value)))
  fc.assert(
    fc.property(harmless, (value) =>
      t.strictSame(decode(JSON.stringify(value)), JSON.parse(JSON.stringify(value)))
    )
  )
})

t.test('a byte order mark before JSON is left out, on each wire', async (t) => {
  t.strictSame(decode('\ufeff{"a":"\ufeffb"}'), { a: '\ufeffb' })
  t.throws(() => decode('\ufeff'), { code: 'TEST_ERR_BAD_JSON' })
})

t.test('any bytes give a value or a 400', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      try {
        decode(bytes)
      } catch (err) {
        t.match(err, { code: 'TEST_ERR_BAD_JSON', statusCode: 400 })
      }
    })
  )
  t.end()
})

t.test('depth counts objects and lists', async (t) => {
  t.strictSame(decode('1', 0), 1)
  t.strictSame(decode('[{"a":[]}]', 3), [{ a: [] }])
  t.throws(() => decode('[{"a":[]}]', 2), { code: 'TEST_ERR_BAD_JSON', message: /nested/ })
  t.strictSame(decode('[[],[],[]]', 2), [[], [], []])
})

t.test('harmless keys that look dangerous pass', async (t) => {
  const value = { constructor: 'x', prototype: {}, proto: 1, nested: { constructor: { name: 'x' } } }
  t.equal(JSON.stringify(decode(JSON.stringify(value))), JSON.stringify(value))
  t.throws(() => decode('{"a":[{"constructor":{"prototype":1}}]}'), { code: 'TEST_ERR_BAD_JSON' })
})
