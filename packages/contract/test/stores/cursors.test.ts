import t from 'tap'
import { firstToExpire } from '../../src/stores/cursors.ts'

t.test('inputs come in the order of their ends, and of their ids where these are equal', async (t) => {
  const inputs = ['2.b', '1.c', '2.a', '2.a'].map((name) => {
    const [expiresAt = '', inputId = ''] = name.split('.')
    return { expiresAt: Number(expiresAt), inputId, name }
  })
  t.strictSame(
    inputs.toSorted(firstToExpire).map(({ name }) => name),
    ['1.c', '2.a', '2.a', '2.b']
  )
  t.equal(firstToExpire(inputs[2]!, inputs[3]!), 0)
})
