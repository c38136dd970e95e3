import { Type, type TSchema } from '@sinclair/typebox'
import registry, { createRunEngine } from '@svc/registry'
import { requireOptions } from '@svc/contract'
import Fastify from 'fastify'
import t from 'tap'

const fn = Type.Function([], Type.Unknown())
const strict = { additionalProperties: false }

/** The error message for an invalid option `it`. */
function faultOf(it: TSchema, value: unknown): string {
  try {
    requireOptions(Type.Object({ it }, strict), value === undefined ? {} : { it: value })
  } catch (err) {
    return (err as Error).message.replace('Bad option: ', '')
  }
  return 'none'
}

t.test(
  'errors of the plugin and the engine name the option, the expected values and the actual type',
  async (t) => {
    const bad: [options: object, message: string][] = [
      [{ store: {} }, 'Bad option: store: no such option'],
      [{ limits: { runs: 1 } }, 'Bad option: limits/runs: no such option'],
      [
        { limits: { maxRuns: 0, maxLogBytes: '1mb' } },
        'Bad option: limits/maxRuns: expected an integer of at least 1, got another integer; ' +
          'limits/maxLogBytes: expected an integer of at least 1024, got a string'
      ],
      [
        { stores: null },
        'Bad option: stores: expected an object with runs, log, sessions, memory, tasks, checkpoints and control, got null'
      ],
      [{ authorize: Promise.resolve() }, 'Bad option: authorize: expected a function, got a promise']
    ]
    for (const [options, message] of bad) {
      const registering = async () => Fastify().register(registry, options)
      await t.rejects(registering, { code: 'REG_ERR_BAD_OPTION', message })
    }
    t.throws(() => createRunEngine({ drainTimeout: 2 ** 31 }), {
      code: 'REG_ERR_BAD_OPTION',
      message: 'Bad option: drainTimeout: expected an integer from 0 to 2147483647, got another integer'
    })
  }
)

t.test('each type is described in plain words', async (t) => {
  const cases: [schema: TSchema, value: unknown, says: string][] = [
    [Type.String(), 5, 'a string, got an integer'],
    [Type.String(), undefined, 'a string, got nothing'],
    [Type.String({ minLength: 1 }), '', 'a string that is not empty, got an empty string'],
    [Type.String({ minLength: 2 }), 'a', 'a string of at least 2 characters, got another string'],
    [Type.String({ maxLength: 2 }), 'abc', 'a string of at most 2 characters, got another string'],
    [Type.String({ pattern: '^/' }), 'a', 'a string that matches /^\\//, got another string'],
    [Type.Integer(), 1.5, 'an integer, got a number'],
    [Type.Integer({ maximum: 5 }), 6, 'an integer of at most 5, got another integer'],
    [Type.Number({ minimum: 1.5 }), 1, 'a number of at least 1.5, got an integer'],
    [Type.Number(), Number.NaN, 'a number, got a number that is not finite'],
    [Type.Boolean(), 'yes', 'a boolean, got a string'],
    [fn, Buffer.from('x'), 'a function, got bytes'],
    [fn, 5n, 'a function, got a bigint'],
    [Type.Uint8Array(), () => {}, 'bytes, got a function'],
    [Type.Object({}), [1], 'an object, got a list'],
    [Type.Object({ a: fn, b: Type.Optional(fn) }), true, 'an object with a, got a boolean'],
    [
      Type.Record(Type.String(), fn, { minProperties: 1 }),
      {},
      'an object that is not empty, got an empty object'
    ],
    [Type.Array(fn), {}, 'a list, got an empty object'],
    [Type.Array(fn), new Map(), 'a list, got an object'],
    [Type.Array(fn, { minItems: 1 }), [], 'a list that is not empty, got an empty list'],
    [Type.Array(Type.Any(), { minItems: 2 }), [1], 'a list of at least 2, got another list'],
    [Type.Array(Type.Any(), { maxItems: 1 }), [1, 2], 'a list of at most 1, got another list'],
    [Type.Array(Type.Any(), { uniqueItems: true }), [1, 1], 'a list without repeats, got another list'],
    [Type.Any(), undefined, 'a value, got nothing'],
    [Type.Literal('x'), 'y', "'x', got another string"],
    [Type.Literal(false), null, 'false, got null'],
    [Type.Date(), Symbol('x'), 'Date']
  ]
  for (const [schema, value, says] of cases) t.equal(faultOf(schema, value), `it: expected ${says}`)
})

t.test('a union: all alternatives, or the error of the one that was meant', async (t) => {
  const word = Type.Union([Type.Literal('a'), Type.Literal('b'), Type.Literal('c')])
  t.equal(faultOf(word, 'd'), "it: expected 'a', 'b' or 'c', got another string")
  t.equal(faultOf(Type.Union([word, fn]), 5), "it: expected 'a', 'b', 'c' or a function, got an integer")

  const strictly = Type.Object({ before: Type.Optional(fn) }, strict)
  const hooks = Type.Union([fn, strictly, Type.Array(Type.Union([fn, strictly]))])
  t.equal(faultOf(hooks, 'x'), 'it: expected a function, an object or a list, got a string')
  t.equal(faultOf(hooks, { befor: 1 }), 'it/befor: no such option')
  t.equal(faultOf(hooks, [{ before: 1 }]), 'it/0/before: expected a function, got an integer')
  t.equal(faultOf(hooks, [5]), 'it/0: expected a function or an object, got an integer')
  t.equal(
    faultOf(Type.Union([Type.Boolean(), hooks]), [5, {}]),
    'it/0: expected a function or an object, got an integer'
  )

  const wait = Type.Union([
    Type.Object({ sleep: Type.Number({ minimum: 0 }) }, strict),
    Type.Object({ until: fn }, strict)
  ])
  t.equal(faultOf(wait, { sleep: -1 }), 'it/sleep: expected a number of at least 0, got an integer')
  t.equal(faultOf(wait, {}), 'it: expected an object with sleep or an object with until, got an empty object')
  t.equal(
    faultOf(wait, { x: 1 }),
    'it: expected an object with sleep or an object with until, got another object'
  )
})

t.test('objects distinguished by a field', async (t) => {
  const shape = Type.Union([
    Type.Object({ type: Type.Literal('circle'), radius: Type.Number() }, strict),
    Type.Object({ type: Type.Literal('box'), width: Type.Number(), height: Type.Number() }, strict)
  ])
  t.equal(
    faultOf(shape, { type: 'box', radius: 1 }),
    'it/width: expected a number, got nothing; it/height: expected a number, got nothing; it/radius: no such option'
  )
  t.equal(
    faultOf(shape, { type: 'bx', width: 1, height: 1 }),
    "it/type: expected 'circle' or 'box', got another string"
  )
  t.equal(faultOf(shape, {}), "it/type: expected 'circle' or 'box', got nothing")
})

t.test('paths are JSON pointers, and long lists of errors are cut', async (t) => {
  t.equal(
    faultOf(Type.Record(Type.String(), fn), { 'GET /a~b': 1 }),
    'it/GET ~1a~0b: expected a function, got an integer'
  )
  const names = Type.Record(Type.String({ pattern: '^[a-z]+$' }), fn, strict)
  t.equal(faultOf(names, { 'X-Y': fn }), 'it/X-Y: no such option, expected a name that matches /^[a-z]+$/')
  const said = faultOf(
    Type.Array(fn),
    Array.from({ length: 1_000 }, () => 1)
  )
  t.equal(said.split('; ').length, 6)
  t.match(said, /; and more$/)
})

t.test('methods may be those of a class', async (t) => {
  class Store {
    get() {}
    put() {}
  }
  const store = Type.Object({ get: fn, put: fn })
  t.equal(faultOf(store, new Store()), 'none')
  t.equal(
    faultOf(Type.Object({ ...store.properties, list: fn }), new Store()),
    'it/list: expected a function, got nothing'
  )
  const stores = Type.Union([Type.Literal('memory'), Type.Object({ store, ttl: Type.Integer() })])
  t.equal(faultOf(stores, { store: new Store(), ttl: 'x' }), 'it/ttl: expected an integer, got a string')
})

t.test('values never appear in errors', async (t) => {
  const schemas = [
    fn,
    Type.String({ pattern: '^x$' }),
    Type.Literal('x'),
    Type.Array(fn),
    Type.Union([
      Type.Literal('x'),
      Type.Object({ a: fn }),
      Type.Array(fn),
      Type.Array(Type.Object({ a: fn }))
    ])
  ]
  for (const schema of schemas)
    for (const value of ['hush', ['hush'], { a: 'hush' }, [{ a: 'hush' }], Buffer.from('hush')])
      t.notMatch(faultOf(schema, value), /hush/)
})

t.test('a value that cannot be inspected is reported too', async (t) => {
  const fail = () => {
    throw new Error('hush')
  }
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  const closed = [
    new Proxy({}, { get: fail }),
    new Proxy({}, { getPrototypeOf: fail, ownKeys: fail }),
    revoked.proxy
  ]
  for (const value of closed) {
    t.equal(faultOf(fn, value), 'it: expected a function, got an object')
    t.equal(faultOf(Type.Integer(), value), 'it: expected an integer, got an object')
  }
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  const words = Type.Array(Type.Literal('x'), { uniqueItems: true })
  for (const value of [circle, fail]) t.match(faultOf(words, [value, value]), /^it\/0: expected 'x', got /)

  const own = {
    get it() {
      return fail()
    }
  }
  t.throws(
    () => requireOptions(Type.Object({ it: fn }), own),
    { message: 'hush' },
    'an error of its own stays'
  )
})
