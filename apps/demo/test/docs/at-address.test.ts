import t from 'tap'
import { atAddress } from '../../src/docs/at-address.ts'

t.test('commands call the address of the service; code keeps its own port', async (t) => {
  const text =
    'curl http://127.0.0.1:3000/api\ncurl localhost:3000/api\nlisten({ port: 3000 }) localhost:30001'
  t.equal(
    atAddress(text, 'localhost:4000'),
    'curl http://localhost:4000/api\ncurl localhost:4000/api\nlisten({ port: 3000 }) localhost:30001'
  )
})
