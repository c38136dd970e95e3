import t from 'tap'
import { addressOf } from '../src/address.ts'

t.test('an address that can be called', async (t) => {
  t.equal(addressOf('127.0.0.1', 3000), '127.0.0.1:3000')
  t.equal(addressOf('0.0.0.0', 1), 'localhost:1')
  t.equal(addressOf('::', 1), 'localhost:1')
  t.equal(addressOf('::1', 1), '[::1]:1')
})
