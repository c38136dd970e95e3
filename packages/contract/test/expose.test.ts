import { codeOf, createError, isExposed } from '../src/create-error.ts'
import { RUN_ERR_NOT_FOUND } from '../src/errors.ts'
import { expose } from '../src/expose.ts'
import { toStoredError } from '../src/run-error.ts'
import t from 'tap'

const FAILED = { code: 'RUN_ERR_FAILED', message: 'The run failed', retryable: false, statusCode: 500 }

t.test('an object becomes an error that clients see unchanged', (t) => {
  const error = expose({ code: 'ORDER_NOT_FOUND', message: 'There is no order 7', statusCode: 404 })
  t.ok(error instanceof Error)
  t.match(error.stack, /expose\.test/, 'with the stack of its maker')
  t.strictSame(toStoredError(error), {
    code: 'ORDER_NOT_FOUND',
    message: 'There is no order 7',
    retryable: false,
    statusCode: 404
  })
  const busy = expose({ code: 'BUSY', message: 'Later', statusCode: 503, retryAfter: 7 })
  t.match(toStoredError(busy), { retryable: true, retryAfter: 7 })
  t.match(toStoredError(expose({ code: 'A', message: '', retryable: true })), {
    retryable: true,
    statusCode: 500,
    message: ''
  })
  t.end()
})

t.test('an error keeps its identity', (t) => {
  class OrderNotFound extends Error {
    readonly code = 'ORDER_NOT_FOUND'
    readonly statusCode = 404
  }
  const error = new OrderNotFound('There is no order 7')
  const keys = Reflect.ownKeys(error)
  t.equal(expose(error), error)
  t.equal(expose(error), error, 'also the second time')
  t.strictSame(
    Object.keys(error),
    keys.filter((key) => Object.keys(error).includes(key as string))
  )
  t.match(toStoredError(error), { code: 'ORDER_NOT_FOUND', statusCode: 404 })
  const frozen = Object.freeze(Object.assign(new Error('cold'), { code: 'COLD' }))
  const told = expose(frozen)
  t.match(toStoredError(told), { code: 'COLD', message: 'cold' })
  t.equal(told.cause, frozen)
  t.end()
})

t.test('neither a code, a copy nor parsed JSON makes an error exposed', (t) => {
  const fault = { code: 'RUN_ERR_NOT_FOUND', message: 'secret', statusCode: 404 }
  const own = expose(fault)
  const others: unknown[] = [
    fault,
    Object.assign(new Error('secret'), fault),
    { ...own },
    Object.assign(new Error('secret'), own),
    JSON.parse(JSON.stringify({ ...own, '@svc/registry/error': true })),
    structuredClone(own),
    Object.assign(new RUN_ERR_NOT_FOUND('x'), { code: 5 }),
    Object.defineProperty(expose({ code: 'X', message: 'x' }), 'code', {
      get: () => {
        throw new Error('trap')
      }
    })
  ]
  for (const each of others) {
    t.notOk(isExposed(each))
    t.equal(codeOf(each), undefined)
    t.strictSame(toStoredError(each), FAILED)
  }
  t.end()
})

t.test('errors of a catalogue are exposed, from every installed copy', async (t) => {
  type Copy = { createError: typeof createError }
  const copy = (await import(new URL('../src/create-error.ts?copy', import.meta.url).href)) as Copy
  t.not(copy.createError, createError)
  for (const make of [createError, copy.createError]) {
    const Fault = make<[string, ErrorOptions?]>('X_ERR_Y', 'no %s', 418)
    const error = new Fault('tea', { cause: 'c' })
    t.match(error, { code: 'X_ERR_Y', message: 'no tea', statusCode: 418, cause: 'c' })
    t.ok(error instanceof Fault)
    t.equal(codeOf(error), 'X_ERR_Y')
    t.equal(codeOf(new (class extends Fault {})('coffee')), 'X_ERR_Y')
  }
})

t.test('invalid errors are refused, with the original as the cause', (t) => {
  const bad: [unknown, RegExp][] = [
    [undefined, /expected an object/],
    ['text', /expected an object/],
    [new Error('no code'), /code: expected a string/],
    [{ code: '', message: 'x' }, /code: expected a string/],
    [{ code: 'A B', message: 'x' }, /code: expected a string/],
    [{ code: 'A'.repeat(129), message: 'x' }, /code: expected a string/],
    [{ code: 5, message: 'x' }, /code: expected a string/],
    [{ code: 'A' }, /message: expected a string/],
    [{ code: 'A', message: 'x', statusCode: 200 }, /statusCode: expected an integer from 400 to 599/],
    [{ code: 'A', message: 'x', statusCode: '404' }, /statusCode/],
    [{ code: 'A', message: 'x', retryable: 1 }, /retryable/],
    [{ code: 'A', message: 'x', retryAfter: -1 }, /retryAfter/]
  ]
  for (const [fault, message] of bad)
    t.throws(() => expose(fault as never), { code: 'REG_ERR_BAD_ERROR', message, cause: fault as object })
  t.end()
})
