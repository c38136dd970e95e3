import { runInNewContext } from 'node:vm'
import { toLoggable } from '../src/create-error.ts'
import t from 'tap'

t.test('an error is logged with its type, stack and causes', (t) => {
  const cause = Object.assign(new TypeError('inner'), { headers: { authorization: 'SECRET' } })
  const err = Object.assign(new Error('outer', { cause }), { config: { token: 'SECRET' } })
  t.strictSame(toLoggable(err), {
    type: 'Error',
    stack: err.stack,
    cause: { type: 'TypeError', stack: cause.stack }
  })
  const foreign: unknown = runInNewContext("new RangeError('of another realm')")
  t.match(toLoggable(foreign), { type: 'RangeError', stack: /of another realm/ })
  t.end()
})

t.test('values that are not errors, or throw when inspected', (t) => {
  t.strictSame(toLoggable('a text'), { type: 'string', stack: 'a text' })
  t.strictSame(toLoggable({ token: 'SECRET' }), { type: 'object' })
  t.strictSame(toLoggable(undefined), { type: 'undefined' })
  const trap = new Proxy(new Error('x'), {
    get: () => {
      throw new Error('no')
    }
  })
  t.strictSame(toLoggable(trap), { type: 'unreadable' })
  t.end()
})

t.test('texts are bounded, and only strings count as texts', (t) => {
  const huge = toLoggable(new Error('x'.repeat(1e6))) as { stack: string }
  t.equal(huge.stack.length, 16_384)
  const odd = Object.assign(new Error('x'), { name: { token: 'SECRET' }, stack: { token: 'SECRET' } })
  t.strictSame(toLoggable(odd), { type: undefined, stack: undefined })
  const circle = new Error('x')
  circle.cause = circle
  t.equal(JSON.stringify(toLoggable(circle)).match(/"cause"/g)?.length, 7)
  t.end()
})
