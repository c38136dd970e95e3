import t from 'tap'
import { drainUnderLoad } from '../bench/soak/drain.ts'

t.test('a service that drains under load serves all but new work, and says nothing untrue', async (t) => {
  t.setTimeout(120_000)
  const { faults, untrue, missing, runs, refusals, served } = await drainUnderLoad({
    clients: 2,
    stock: 15,
    drainTimeout: 1_500
  })
  t.comment(`${runs} runs, ${served} requests served and ${refusals} refused while draining`)
  t.same(faults, [], 'bad answers before the end')
  t.same(untrue, [], 'states that clients were told, and are not so')
  t.same(missing, [], 'what was not served or said')
  t.ok(refusals > 0)
})
