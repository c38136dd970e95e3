import * as errors from '../src/errors.ts'
import t from 'tap'

t.test('every error is named as its code', async (t) => {
  for (const [name, Fault] of Object.entries(errors))
    t.equal(new (Fault as new (fault: string) => Error & { code: string })('x').code, name)
})
