import * as errors from '../src/errors.ts'
import t from 'tap'

t.test('every error is exported under its code', async (t) => {
  for (const [name, Fault] of Object.entries(errors)) {
    const fault = new (Fault as new (...args: unknown[]) => Error & { code: string; statusCode: number })(
      'x',
      'y'
    )
    t.equal(fault.code, name)
    t.ok(fault.statusCode >= 400 && fault.statusCode < 600, name)
  }
})
